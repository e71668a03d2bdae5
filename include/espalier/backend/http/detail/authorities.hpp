#pragma once

#include <curl/curl.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>

namespace espalier::backend::detail {

/// The PEM file of trusted authorities if none is named. It is that of the environment, else libcurl's own ("") if that
/// can be read, else the first readable one of `usual`.
inline std::string authorities_file(const char* environment, const char* built_in, std::span<const char* const> usual) {
  if (environment != nullptr && *environment != '\0') return environment;
  if (built_in == nullptr || std::ifstream(built_in)) return "";
  for (const char* file : usual)
    if (std::ifstream(file)) return file;
  return "";
}

/// The same on this machine. A libcurl built elsewhere, as in a wheel, may look for the file in the wrong place.
inline std::string authorities_file() {
  constexpr std::array usual = {
      "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch, Alpine, NixOS
      "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, Red Hat
      "/etc/ssl/ca-bundle.pem",                             // SUSE
  };
  const curl_version_info_data& libcurl = *curl_version_info(CURLVERSION_NOW);
  return authorities_file(std::getenv("SSL_CERT_FILE"), libcurl.age < CURLVERSION_SEVENTH ? nullptr : libcurl.cainfo,
                          usual);
}

}  // namespace espalier::backend::detail
