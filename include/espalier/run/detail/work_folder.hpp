#pragma once

#include <espalier/run/detail/file_errors.hpp>
#include <espalier/run/detail/folder_lock.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// A folder that one process works in at a time, and whose files change together.
///
/// New files are made in its folder `run.part`. commit() renames that folder to `run.whole`, which says that all new
/// files are complete, and moves them to their places. If the process dies before the renaming, the old files stay. If
/// it dies later, the next process that opens the folder moves the rest.
class WorkFolder {
 public:
  /// Makes the folder if it is not there, locks it, and ends or undoes what a process that died there was about. `work`
  /// as for FolderLock. Throws InputError that names the path, or who works there.
  WorkFolder(std::filesystem::path folder, const std::string& work) : folder_(std::move(folder)) {
    with_files([&] {
      std::filesystem::create_directories(folder_);
      if (!std::filesystem::is_directory(folder_)) throw InputError(folder_.string(), 0, "", "is not a folder");
      lock_ = std::make_unique<FolderLock>(folder_, work);
      place();
      std::filesystem::remove_all(next());
      std::filesystem::create_directory(next());
    });
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() { release(); }

  [[nodiscard]] const std::filesystem::path& path() const { return folder_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  /// Where new files are made, under their own names.
  [[nodiscard]] std::filesystem::path next() const { return folder_ / "run.part"; }
  /// Puts the new files, which must be synchronised, in their places: all of them or none. Throws InputError.
  void commit() {
    with_files([&] {
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
  /// Moves the files of `run.whole` to their places, if it exists.
  void place() const {
    const std::filesystem::path whole = folder_ / "run.whole";
    if (!std::filesystem::exists(whole)) return;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(whole)) files.push_back(entry.path());
    for (const auto& file : files) std::filesystem::rename(file, folder_ / file.filename());
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

/// Moves complete files that a dead process left in `run.whole` to their places. A reader of the folder calls it first.
/// Throws InputError if the folder is in use.
inline void settle(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (!std::filesystem::exists(folder / "run.whole", ignored)) return;
  const WorkFolder settled(folder, "putting files in place");
}

}  // namespace espalier::run::detail
