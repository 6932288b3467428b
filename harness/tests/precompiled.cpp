// Nothing: the precompiled header of the tests belongs to the library that this file is.
