#pragma once

#include <espalier/core/atomic_file.hpp>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace espalier::run::detail {

using espalier::detail::AtomicFile;

/// What the file system refused, as an error that names the path.
inline InputError input_error(const std::filesystem::filesystem_error& error) {
  return InputError(error.path1().string(), 0, "", "cannot be used: " + error.code().message());
}

/// Does what uses std::filesystem, whose errors become InputError.
auto with_files(auto&& work) {
  try {
    return work();
  } catch (const std::filesystem::filesystem_error& error) {
    throw input_error(error);
  }
}

/// Writes a file, whole or not at all. Throws InputError.
inline void write_file(const std::filesystem::path& path, std::string_view text) {
  AtomicFile file(path.string());
  file.write(text);
  file.commit();
}

/// True if something can be made in a folder that is there. What is made to try it is taken away again.
inline bool takes_files(const std::filesystem::path& folder) {
  std::string tried = (folder / ".espalier-XXXXXX").string();
  return ::mkdtemp(tried.data()) && ::rmdir(tried.c_str()) == 0;
}

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
      if (descriptor_ < 0) throw failed(folder, "cannot be written: ");
      if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) refuse(folder);
    } while (!in_place());  // its last owner has just removed it
    const std::string text = fmt::format("process {} on {} since {:%Y-%m-%d %H:%M:%S} UTC: {}\n", ::getpid(), host(),
                                         fmt::gmtime(std::time(nullptr)), work);
    if (::ftruncate(descriptor_, 0) != 0 ||
        ::write(descriptor_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      throw failed(folder, "cannot be written: ");
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  /// Lets others work there.
  ~FolderLock() {
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
    close();
    std::ifstream text(file_);
    std::string owner;
    std::getline(text, owner);
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

  std::string file_;
  int descriptor_ = -1;
};

/// A folder that one process works in at a time, and whose files change together (docs page "files"). New files are
/// made in its folder `run.part`. commit() renames that to `run.whole`, and moves them to their places.
class WorkFolder {
 public:
  /// Makes the folder if it is not there, locks it, and ends or undoes what a process that died there was about. `work`
  /// as for FolderLock. `dry`: leaves nothing behind. Throws InputError that names the path, or who works there.
  WorkFolder(std::filesystem::path folder, const std::string& work, bool dry = false) : folder_(std::move(folder)) {
    with_files([&] {
      look();
      if (dry && std::filesystem::exists(folder_ / "run.lock")) const FolderLock free(folder_, work);
      if (dry) return;
      std::filesystem::create_directories(folder_);
      lock_ = std::make_unique<FolderLock>(folder_, work);
      place();
      std::filesystem::remove_all(next());
      std::filesystem::create_directory(next());
      ::chmod(next().c_str(), 0700);
    });
  }
  ~WorkFolder() { release(); }

  [[nodiscard]] const std::filesystem::path& path() const { return folder_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  /// Where new files are made, under their own names.
  [[nodiscard]] std::filesystem::path next() const { return folder_ / "run.part"; }
  /// Puts the new files, which must be synchronised, in their places: all of them or none. They hold prompts and
  /// replies, so nobody but their owner may read them, unless they are `shared`. Throws InputError.
  void commit(bool shared = false) {
    with_files([&] {
      for (const auto& entry : std::filesystem::directory_iterator(next()))
        if (!shared && entry.is_regular_file()) ::chmod(entry.path().c_str(), 0600);
      synchronise(next());
      std::filesystem::rename(next(), folder_ / "run.whole");
      synchronise(folder_);
      place();
    });
  }
  /// Forgets new files that were not put in place, and lets others work in the folder.
  void release() noexcept {
    if (!lock_) return;
    std::error_code ignored;
    std::filesystem::remove_all(next(), ignored);
    lock_.reset();
  }

 private:
  void look() const {
    std::filesystem::path made = folder_, there = std::filesystem::absolute(folder_);
    for (; !std::filesystem::exists(std::filesystem::symlink_status(there)); there = there.parent_path()) made = there;
    if (!takes_files(there))
      throw InputError(made.string(), 0, "", std::string("cannot be written: ") + std::strerror(errno));
  }
  /// Moves the files of `run.whole` to their places, if it exists.
  void place() const {
    const std::filesystem::path whole = folder_ / "run.whole";
    if (!std::filesystem::exists(whole)) return;
    const std::vector<std::filesystem::directory_entry> files(std::filesystem::directory_iterator(whole), {});
    for (const auto& file : files) std::filesystem::rename(file, folder_ / file.path().filename());
    synchronise(folder_);
    std::filesystem::remove(whole);
  }
  static void synchronise(const std::filesystem::path& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;  // some file systems cannot open a folder
    ::fsync(descriptor);
    ::close(descriptor);
  }

  std::filesystem::path folder_;
  std::unique_ptr<FolderLock> lock_;
};

/// Moves files that a dead process left in `run.whole` to their places. For readers. Throws InputError if it is in use.
inline void settle(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (!std::filesystem::exists(folder / "run.whole", ignored)) return;
  const WorkFolder settled(folder, "putting files in place");
}

}  // namespace espalier::run::detail
