# Homebrew only installs from taps, and finds this folder in one. The checkout is the tap:
#
#   brew tap ridge/local "$PWD" && brew install --HEAD ridge/local/ridge
#
# This installs its last commit. A release has a url and a sha256 instead of head.
class Ridge < Formula
  desc "Profiler for tensor programs, and a small tensor runtime"
  license "Apache-2.0"
  head "file://#{File.expand_path("..", __dir__)}", using: :git

  depends_on macos: :ventura
  depends_on "zstd"

  uses_from_macos "expat"
  uses_from_macos "sqlite"
  uses_from_macos "zlib"

  def install
    ENV["RIDGE_NO_INSTALL"] = "1"
    system "make", "PREFIX=#{prefix}"
    system "make", "install", "PREFIX=#{prefix}"
  end

  test do
    system bin/"ridge", "demo", "-o", testpath/"demo"
    system bin/"ridge", "devices"
  end
end
