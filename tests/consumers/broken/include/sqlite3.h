#define SQLITE_VERSION "3.40.0"
#error "broken on purpose"
