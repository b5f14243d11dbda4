# Installs the checkout that this file is in: brew install --HEAD ./packaging/homebrew/ridge.rb
# A release in a tap has a url and a sha256 instead of head.
class Ridge < Formula
  desc "Profiler for tensor programs, and a small tensor runtime"
  license "Apache-2.0"
  head "file://#{File.expand_path("../..", __dir__)}", using: :git

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
