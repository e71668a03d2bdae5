#pragma once

#include <espalier/core/error.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string>

namespace espalier::run::detail {

/// A lock on the file `run.lock` of a folder. Only its holder works in the folder. The file's text names the holder.
/// The system releases the lock when the process ends, however it ends. A file that is left then locks nothing.
class FolderLock {
 public:
  /// `work`: what others are told, such as "espalier expand". Throws InputError that names who works there, in another
  /// process or in this one, or why nothing can be written there.
  FolderLock(const std::filesystem::path& folder, const std::string& work) : file_((folder / "run.lock").string()) {
    do {
      close();
      descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
      if (descriptor_ < 0)
        throw InputError(folder.string(), 0, "", std::string("cannot be written: ") + std::strerror(errno));
      if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) refuse(folder);
    } while (!in_place());  // its last owner has just removed it
    const std::string text =
        "process " + std::to_string(::getpid()) + " on " + host() + " since " + now() + ": " + work + '\n';
    if (::ftruncate(descriptor_, 0) != 0 ||
        ::write(descriptor_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      throw failed(folder, "cannot be written: ");
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock() { release(); }

  /// Lets others work there.
  void release() noexcept {
    if (descriptor_ < 0) return;
    ::unlink(file_.c_str());
    ::flock(descriptor_, LOCK_UN);  // a child that was forked meanwhile holds the descriptor, but no lock
    close();
  }

 private:
  void close() noexcept {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }
  [[nodiscard]] bool in_place() const {
    struct stat mine{}, there{};
    return ::fstat(descriptor_, &mine) == 0 && ::stat(file_.c_str(), &there) == 0 && mine.st_ino == there.st_ino &&
           mine.st_dev == there.st_dev;
  }
  [[noreturn]] void refuse(const std::filesystem::path& folder) {
    if (errno != EWOULDBLOCK) throw failed(folder, "cannot be locked: ");
    std::array<char, 512> text{};
    const ssize_t size = ::read(descriptor_, text.data(), text.size());
    std::string owner(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    owner.resize(std::min(owner.find('\n'), owner.size()));
    close();
    throw InputError(folder.string(), 0, "",
                     "this folder is in use: " + (owner.empty() ? "a process that has just begun" : owner));
  }
  InputError failed(const std::filesystem::path& folder, const std::string& what) {
    const int error = errno;
    close();
    return InputError(folder.string(), 0, "", what + std::strerror(error));
  }
  static std::string host() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "a host without a name";
  }
  static std::string now() {
    const std::time_t seconds = std::time(nullptr);
    std::tm parts{};
    std::array<char, 32> text{};
    return {text.data(),
            std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", ::gmtime_r(&seconds, &parts))};
  }

  std::string file_;
  int descriptor_ = -1;
};

}  // namespace espalier::run::detail
