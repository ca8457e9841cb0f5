import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

/// Compares the declarations of GLib's and libsecret's functions in CofferCGio with the headers, if installed.
@Suite(.blocking) struct HeaderTests {
  /// The compiler flags for the headers, or `nil` if they are not installed.
  private static let flags: [String]? = {
    guard let found = try? run("pkg-config", ["--cflags", "libsecret-1"]), found.status == 0 else { return nil }
    return found.output.split(whereSeparator: \.isWhitespace).map(String.init)
  }()
  private static let unavailabilityReason: Comment =
    "pkg-config finds no headers of libsecret (Debian: libsecret-1-dev)"

  private static func run(_ program: String, _ arguments: [String]) throws -> (output: String, status: Int32) {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    process.standardOutput = output
    process.standardError = output
    try process.runUnblocked()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (text, process.terminationStatus)
  }

  /// Returns the output of the compiler, which is empty if all declarations agree.
  private func differences(_ more: [String] = []) throws -> String {
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("headers.c").path
    let options = ["-std=c11", "-fsyntax-only", "-Wall", "-Wno-unused", "-Wno-deprecated-declarations", "-Werror"]
    return try Self.run("clang", options + (Self.flags ?? []) + more + [source]).output
  }

  @Test(.enabled(if: flags != nil, unavailabilityReason)) func everyDeclarationIsThatOfTheLibrary() throws {
    #expect(try differences() == "")
  }

  @Test(.enabled(if: flags != nil, unavailabilityReason)) func aWrongDeclarationIsFound() throws {
    #expect(try differences(["-DCOFFER_CANARY"]).contains("g_variant_get_uint64"))
  }
}
