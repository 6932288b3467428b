// Nothing: the precompiled header belongs to the library that this file is.
