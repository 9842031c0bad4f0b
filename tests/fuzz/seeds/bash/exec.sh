exec run x
never
