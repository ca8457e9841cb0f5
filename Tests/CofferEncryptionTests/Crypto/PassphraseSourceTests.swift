import CofferCore
import CofferEncryption
import Foundation
import Testing

@Suite(.serialized)
struct PassphraseSourceTests {
  private struct Failure: Error { let secret = "sesame" }

  private func surroundings(credentials: String?) -> PassphraseSurroundings {
    PassphraseSurroundings(credentialsDirectory: { credentials })
  }

  /// Creates a pipe that contains `text`, closes its write end and returns its read end.
  private func pipe(_ text: String) throws -> Int32 {
    var ends: [Int32] = [-1, -1]
    try #require(Foundation.pipe(&ends) == 0)
    #expect(write(ends[1], text, text.utf8.count) == text.utf8.count)
    close(ends[1])
    return ends[0]
  }

  @Test("Sources are equal if they name the same origin, without reading it")
  func equality() {
    func provided() -> PassphraseSource { .provided { Data("sesame".utf8) } }
    let other = PassphraseSource.provided { Data("sesame".utf8) }
    #expect(provided() == provided() && provided() != other)
    #expect(Set([provided(), provided(), other]).count == 2)
    #expect(PassphraseSource.systemdCredential("a") == .systemdCredential("a"))
    #expect(PassphraseSource.systemdCredential("a") != .systemdCredential("b"))
    let (file, same) = (URL(fileURLWithPath: "/run/a"), URL(fileURLWithPath: "/run/x/../a"))
    #expect(PassphraseSource.file(file) == .file(same))
    #expect(PassphraseSource.file(file) != .systemdCredential("/run/a"))
    #expect(other.nameInCode.contains("PassphraseSourceTests.swift:"))
    #expect(other.description == "the program")
  }

  @Test(arguments: [
    ("sesame", "sesame"), ("sesame\n", "sesame"), ("sesame\r\n", "sesame"), ("sesame\n\n", "sesame\n"),
    ("sesame\r", "sesame\r"), (" sesame \n", " sesame "), ("a\nb\n", "a\nb"), ("schöne Tür\n", "schöne Tür"),
    (String(repeating: "x", count: 65536) + "\r\n", String(repeating: "x", count: 65536)),
  ])
  func oneNewlineIsRemoved(content: String, passphrase: String) throws {
    try withFolder { folder in
      let file = folder.appendingPathComponent("passphrase")
      try Data(content.utf8).writePrivately(to: file)
      #expect(try PassphraseSource.file(file).read().text == passphrase)
      #expect(try PassphraseSource.file(file).read(confirming: true).text == passphrase)
      #expect(try PassphraseSource.provided { Data(content.utf8) }.read().text == passphrase)
    }
  }

  @Test(arguments: ["", "\n", "\r\n", String(repeating: "x", count: 65537), String(repeating: "x", count: 200_000)])
  func unusable(content: String) throws {
    try withFolder { folder in
      let file = folder.appendingPathComponent("passphrase")
      try Data(content.utf8).writePrivately(to: file)
      let error = try storageError { _ = try PassphraseSource.file(file).read() }
      #expect(error.code == .invalidPassphrase)
      #expect(error.description.contains("/passphrase'"))
      #expect(!error.description.contains("xx"))
      let other = try storageError { _ = try PassphraseSource.provided { Data(content.utf8) }.read() }
      #expect(other.code == .invalidPassphrase)
    }
  }

  @Test func noSuchFile() throws {
    try withFolder { folder in
      let missing = try storageError { _ = try PassphraseSource.file(folder.appendingPathComponent("no")).read() }
      #expect(missing.code == .unavailable)
      #expect(missing.description.contains("/no'"))
      #expect(missing.underlying?.domain == "errno")
      #expect(try storageError { _ = try PassphraseSource.file(folder).read() }.code == .unsupported)
    }
    for text in ["https://example.org/passphrase", "file:///dev/null", "file:///dev/tty"] {
      let url = try #require(URL(string: text))
      #expect(try storageError { _ = try PassphraseSource.file(url).read() }.code == .unsupported)
    }
  }

  @Test(.enabled(if: geteuid() != 0, "root may read every file"))
  func unreadableFile() throws {
    try withFolder { folder in
      let file = folder.appendingPathComponent("passphrase")
      try Data("sesame".utf8).writePrivately(to: file)
      try #require(chmod(file.path, 0) == 0)
      #expect(try storageError { _ = try PassphraseSource.file(file).read() }.code == .permissionDenied)
    }
  }

  @Test("A file that other users can read or change provides no secret of any kind, unless it is a credential")
  func exposedFile() throws {
    try withFolder { folder in
      let file = folder.appendingPathComponent("secret")
      try Data((0..<64).map { "\($0)" }.joined().utf8).writePrivately(to: file)
      let source = PassphraseSource.file(file)
      let (elsewhere, here) = (surroundings(credentials: "/run/other"), surroundings(credentials: folder.path + "/"))
      for mode in [0o640, 0o604, 0o620, 0o602, 0o666] as [mode_t] {
        try #require(chmod(file.path, mode) == 0)
        let words = "other users can read or change it (mode \(String(mode, radix: 8)))"
        for error in [
          try storageError { _ = try source.read(in: elsewhere) },
          try storageError { _ = try source.readOnce().read(in: elsewhere) },
          try storageError { _ = try source.readKeyMaterial(in: elsewhere) },
          try storageError { _ = try source.text(named: "access token") },
        ] {
          #expect(error.code == .permissionDenied && error.description.contains(words), "\(error)")
          #expect(error.advice.contains("chmod 600"))
        }
        // The mode of a credential may show an access control list for the user of the service.
        #expect(try source.read(in: here).count > 0)
      }
      try #require(chmod(file.path, 0o711) == 0)
      #expect(try source.read(in: elsewhere).count > 0)
    }
  }

  @Test("A secret that is text: without its newline, and named in messages")
  func text() throws {
    #expect(try PassphraseSource.descriptor(pipe("t0ken\n")).text(named: "access token") == "t0ken")
    let empty = try storageError { _ = try PassphraseSource.descriptor(pipe("\n")).text(named: "access token") }
    #expect(empty.message.hasPrefix("No access token could be read from the file descriptor"))
    let binary = try storageError { _ = try PassphraseSource.provided { Data([0xFF]) }.text(named: "access token") }
    #expect(binary.code == .decodingFailed)
  }

  @Test func namedPipe() throws {
    try withFolder { folder in
      let path = folder.appendingPathComponent("pipe").path
      try #require(mkfifo(path, 0o600) == 0)
      Thread.detachNewThread {
        let pipe = open(path, O_WRONLY)
        for part in ["ses", "ame", "\n"] { _ = write(pipe, part, part.utf8.count) }
        close(pipe)
      }
      #expect(try PassphraseSource.file(URL(fileURLWithPath: path)).read().text == "sesame")
    }
  }

  /// A path such as a shell substitutes for `<(command)`.
  @Test func pathOfAPipe() throws {
    let reader = try pipe("sesame\n")
    defer { close(reader) }
    #expect(try PassphraseSource.file(URL(fileURLWithPath: "/dev/fd/\(reader)")).read().text == "sesame")
  }

  @Test("What a source provides once is kept for further uses, and a failure is not")
  func readOnce() throws {
    let source = PassphraseSource.descriptor(try pipe("sesame\n"))
    let shared = source.readOnce()
    #expect(shared == source && shared.description == source.description)
    for confirming in [false, true] { #expect(try shared.read(confirming: confirming).text == "sesame") }
    let material = PassphraseSource.descriptor(try pipe("open\n")).readOnce()
    for _ in 0..<2 { #expect(try material.readKeyMaterial().text == "open\n") }
    try withFolder { folder in
      let file = folder.appendingPathComponent("passphrase")
      let late = PassphraseSource.file(file).readOnce()
      #expect(try storageError { _ = try late.read() }.code == .unavailable)
      try Data("sesame".utf8).writePrivately(to: file)
      #expect(try late.read().text == "sesame")
    }
  }

  @Test func descriptorIsReadOnceAndClosed() throws {
    let reader = try pipe("sesame\n")
    let source = PassphraseSource.descriptor(reader)
    let copy = source
    #expect(try source.read().text == "sesame")
    let error = try storageError { _ = try copy.read() }
    #expect(error.code == .closed)
    #expect(error.description.contains("descriptor \(reader)"))
  }

  @Test func descriptorThatDoesNotWait() throws {
    var ends: [Int32] = [-1, -1]
    try #require(Foundation.pipe(&ends) == 0)
    let writer = ends[1]
    try #require(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
    Thread.detachNewThread {
      for part in ["ses", "ame"] { _ = write(writer, part, part.utf8.count) }
      close(writer)
    }
    #expect(try PassphraseSource.descriptor(ends[0]).read().text == "sesame")
  }

  @Test func descriptorsThatCannotBe() throws {
    #expect(try storageError { _ = try PassphraseSource.descriptor(-1).read() }.code == .closed)
    let device = open("/dev/zero", O_RDONLY)
    #expect(try storageError { _ = try PassphraseSource.descriptor(device).read() }.code == .unsupported)
    #expect(try storageError { _ = try PassphraseSource.descriptor(pipe("")).read() }.code == .invalidPassphrase)
  }

  @Test func systemdCredential() throws {
    try withFolder { folder in
      try Data("sesame\n".utf8).write(to: folder.appendingPathComponent("shop-store"))
      let here = surroundings(credentials: folder.path)
      #expect(try PassphraseSource.systemdCredential("shop-store").read(in: here).text == "sesame")
      let missing = try storageError { _ = try PassphraseSource.systemdCredential("other").read(in: here) }
      #expect(missing.code == .unavailable)
      #expect(missing.description.contains("'other'"))
      for name in ["", ".", "..", "a/b", "../shop-store", "/etc/hostname", "a\0b", String(repeating: "x", count: 256)] {
        let error = try storageError { _ = try PassphraseSource.systemdCredential(name).read(in: here) }
        #expect(error.code == .unsupported, "\(name)")
      }
    }
    for directory in [nil, "", "relative"] {
      let error = try storageError {
        _ = try PassphraseSource.systemdCredential("shop-store").read(in: surroundings(credentials: directory))
      }
      #expect(error.code == .unavailable)
      #expect(error.description.contains("CREDENTIALS_DIRECTORY"))
    }
  }

  @Test func whatAProgramThrows() throws {
    let error = try storageError { _ = try PassphraseSource.provided { throw Failure() }.read() }
    #expect(error.code == .unavailable)
    #expect(!error.description.contains("sesame"))
    let own = try storageError { _ = try PassphraseSource.provided { throw StorageError(.busy, "Later.") }.read() }
    #expect(own.code == .busy)
  }
}

extension Data {
  /// Writes the data to a file that only this user can read.
  fileprivate func writePrivately(to file: URL) throws {
    try write(to: file)
    try #require(chmod(file.path, 0o600) == 0)
  }
}
