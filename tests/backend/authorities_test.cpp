#include <espalier/backend/detail/http/endpoint.hpp>

#include "temporary_folder.hpp"
#include <doctest/doctest.h>

#include <array>
#include <string>

namespace authorities_test {

using espalier::backend::detail::authorities_file;

TEST_CASE("authorities are those of the environment, else libcurl's where it has them, else the machine's") {
  const espalier::test::TemporaryFolder folder;
  const std::string here = folder / "here.pem", later = folder / "later.pem", absent = folder / "absent.pem";
  espalier::test::write_bytes(here, "a certificate");
  espalier::test::write_bytes(later, "a certificate");
  const std::array usual = {absent.c_str(), here.c_str(), later.c_str()};

  CHECK(authorities_file("mine.pem", absent.c_str(), usual) == "mine.pem");
  CHECK(authorities_file("", absent.c_str(), usual) == here);
  CHECK(authorities_file(nullptr, absent.c_str(), usual) == here);
  CHECK(authorities_file(nullptr, later.c_str(), usual) == "");  // libcurl's own choice is there
  CHECK(authorities_file(nullptr, nullptr, usual) == "");        // it trusts by other means
  CHECK(authorities_file(nullptr, absent.c_str(), {}) == "");
}

}  // namespace authorities_test
