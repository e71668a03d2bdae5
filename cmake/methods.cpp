// Every method, compiled once for our own programs that ask for methods by name.
#include <espalier/method/all.hpp>
