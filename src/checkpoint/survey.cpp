#include "checkpoint/survey.h"

#include "base/files.h"

namespace shardlint::checkpoint {

Survey survey(const Checkpoint& checkpoint) {
  Survey made;
  made.names = RealDisk().list(checkpoint.directory);
  for (std::uint32_t i = 0; i < checkpoint.files.size(); ++i) {
    std::optional<FileInfo> status;
    if (!checkpoint.files[i].empty()) {
      status = stat_file(checkpoint.path(i));
    }
    made.files.push_back(status && !status->is_directory ? status : std::nullopt);
  }
  return made;
}

bool Survey::holds(const Place& place) const {
  return place.file < files.size() && files[place.file] &&
         place.offset <= files[place.file]->size &&
         place.length <= files[place.file]->size - place.offset;
}

}  // namespace shardlint::checkpoint
