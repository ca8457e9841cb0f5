#if os(Linux)
  import CofferTesting
  import Foundation
  import Testing

  /// The Debian package, of programs that are stand-ins: only `./run package` builds those that work without Swift.
  @Suite("Package", .serialized)
  struct PackageTests {
    let sandbox: Sandbox

    init() throws { sandbox = try Sandbox() }

    private var script: String {
      let here = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      return here.appendingPathComponent("../../../scripts/package.sh").standardized.path
    }

    /// Makes a package of scripts that start the built `watchify`, and returns the output.
    private func build(_ name: String, version: String = "") async throws -> EndedProgram {
      let programs = sandbox.url.appendingPathComponent("programs")
      try FileManager.default.createDirectory(at: programs, withIntermediateDirectories: true)
      let program = Sandbox.binaries.appendingPathComponent("watchify").path
      for name in ["coffer", "watchify"] {
        let isOther = name == "coffer" && !version.isEmpty
        let text =
          "#!/bin/sh\n" + (isOther ? "[ $1 = version ] && echo 'x \(version)' && exit\n" : "")
          + "exec '\(program)' \"$@\"\n"
        let file = programs.appendingPathComponent(name)
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
      }
      return try await sandbox.bash(
        "SOURCE_DATE_EPOCH=1700000000 '\(script)' '\(programs.path)' '\(sandbox.path(name))' 2>&1")
    }

    @Test("It contains programs, completions and units; two builds are equal", .enabled(if: hasTools))
    func contents() async throws {
      let first = try await build("one")
      try #require(first.status == 0, "\(first.text)")
      #expect(try await build("two").status == 0)
      let equal = try await sandbox.bash("cmp one/*.deb two/*.deb && cmp one/*.tar.gz two/*.tar.gz")
      #expect(equal.status == 0, "\(equal.text)")
      let fields = try await sandbox.bash("dpkg-deb --field one/*.deb").text
      for field in [
        "Package: coffer\n", "Architecture: ", "Installed-Size: ", "Depends: libcurl4 ", "Recommends: ca-certificates",
      ] {
        #expect(fields.contains(field), "\(field) is missing in \(fields)")
      }
      #expect(fields.contains(/\nVersion: \d+\.\d+\.\d+\n/))
      let files = try await sandbox.bash("dpkg-deb --contents one/*.deb").text
      for path in [
        "bin/coffer", "bin/watchify", "share/bash-completion/completions/watchify",
        "lib/systemd/user/watchify.service", "lib/systemd/user/watchify.socket",
        "share/doc/coffer/copyright", "share/doc/coffer/changelog.gz",
      ] {
        #expect(files.contains("root/root") && files.contains("./usr/\(path)\n"), "\(path) is missing in \(files)")
      }
      let sums = try await sandbox.bash("dpkg-deb --raw-extract one/*.deb x && cd x && md5sum --check DEBIAN/md5sums")
      #expect(sums.status == 0, "\(sums.text)")
      let unit = try await sandbox.bash("cat x/usr/lib/systemd/user/watchify.service").text
      #expect(unit.contains("\nExecStart=/usr/bin/watchify ") && unit.contains("\nReadWritePaths=%h/"), "\(unit)")
      #expect(!unit.contains(sandbox.url.path) && !unit.contains("--data"))
    }

    @Test("Programs of different versions are refused", .enabled(if: hasTools))
    func versions() async throws {
      let ended = try await build("one", version: "9.9.9")
      #expect(ended.status == 1 && ended.text.contains("not 9.9.9"), "\(ended.text)")
    }
  }

  private let hasTools = FileManager.default.isExecutableFile(atPath: "/usr/bin/dpkg-deb")
#endif
