// Prints the sample report in a format, for the tests that hand it to schemas and consumers.
#include <cstdio>

#include "sample_report.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    return 2;
  }
  shardlint::Look look;
  look.unknowns = true;
  look.folder = "/home/me/my project";
  look.exit_code = 1;
  const std::string text = shardlint::find_format(argv[1]).render(shardlint::sample_report(), look);
  std::fwrite(text.data(), 1, text.size(), stdout);
}
