import WatchifyWeb

/// The units of systemd that run Watchify for one user: systemd.unit(5), systemd.service(5), systemd.exec(5).
struct ServiceUnit {
  /// Whether mounts can be restricted: a user's manager needs user namespaces for it, which some systems forbid.
  enum Isolation: Sendable {
    case full, withoutNamespaces
  }

  /// The first line of a unit that Watchify has written; the checksum of all lines below follows it.
  private static let mark = "# Written by 'watchify service install', checksum "

  /// The file of the unit without its first line.
  private let body: String

  /// The contents of the unit file.
  var text: String { Self.mark + Self.checksum(body) + "\n" + body }

  /// The contents of the unit as a package ships it.
  var packagedText: String { body }

  /// The port of the page.
  static let port = SiteServer.usualPort

  /// Creates the unit of the service, which reads the stores and serves the page.
  /// - Parameters:
  ///   - program: the absolute path of the program.
  ///   - data: the absolute path of the database; `nil` in a unit for any user, which uses the usual one.
  ///   - isolation: which restrictions are possible.
  static func service(program: String, data: String?, isolation: Isolation = .full) -> ServiceUnit {
    let words = [program, "serve", "--port", String(port)] + (data.map { ["--data", $0] } ?? [])
    let folder = data.map { $0.split(separator: "/").dropLast().reduce(into: "") { $0 += "/" + $1 } }
    let writable = folder.map { quoted($0.isEmpty ? "/" : $0, isCommand: false) } ?? usualFolder
    var lines = [
      "[Unit]", "Description=Watchify, which follows shops", "Documentation=man:watchify(1)",
      "StartLimitIntervalSec=15min", "StartLimitBurst=5",
    ]
    // The folder must exist to be the only one that is writable; the first store that is added creates it.
    if data == nil { lines.append("ConditionPathIsDirectory=\(usualFolder)") }
    lines += [
      "", "[Service]", "Type=notify", "NotifyAccess=main",
      "ExecStart=" + words.map { quoted($0, isCommand: true) }.joined(separator: " "),
      // A migration of a large database comes before the service is ready.
      "TimeoutStartSec=15min", "TimeoutStopSec=60", "WatchdogSec=3min", "Restart=on-failure", "RestartSec=20",
      // An invalid command line does not become valid.
      "RestartPreventExitStatus=2", "SyslogIdentifier=watchify", "Nice=5", "",
      "# Restrictions. None of them requires privileges.",
    ]
    lines += restrictions
    if isolation == .full {
      lines += mountRestrictions + ["ReadWritePaths=\(writable)"]
      if !isTemporary(program), !isTemporary(data ?? "") { lines.append("PrivateTmp=yes") }
    }
    lines += ["", "[Install]", "WantedBy=default.target"]
    return ServiceUnit(body: lines.joined(separator: "\n") + "\n")
  }

  /// Creates the unit of the socket on which the manager listens for the page from its own start on, so that a browser
  /// waits for the service instead of finding nobody.
  static func socket() -> ServiceUnit {
    let lines = [
      "[Unit]", "Description=The page of Watchify", "Documentation=man:watchify(1)", "", "[Socket]",
      "ListenStream=127.0.0.1:\(port)", "FileDescriptorName=page", "", "[Install]", "WantedBy=sockets.target",
    ]
    return ServiceUnit(body: lines.joined(separator: "\n") + "\n")
  }

  private static let usualFolder = "%h/.local/share/watchify"

  private static let restrictions = [
    "UMask=0077", "NoNewPrivileges=yes", "LockPersonality=yes", "MemoryDenyWriteExecute=yes", "RestrictNamespaces=yes",
    "RestrictRealtime=yes", "RestrictSUIDSGID=yes",
    // The kernel announces changes of the network over netlink.
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK", "SystemCallArchitectures=native",
    "SystemCallFilter=@system-service", "SystemCallFilter=~@privileged @resources", "SystemCallErrorNumber=EPERM",
    "LimitCORE=0",
  ]

  /// The restrictions that need a namespace for mounts. `PrivateUsers=` comes first: without it a user's manager
  /// ignores some of the others, and fails with some.
  private static let mountRestrictions = [
    "PrivateUsers=yes", "ProtectSystem=strict", "ProtectHome=read-only", "PrivateDevices=yes",
    "ProtectKernelTunables=yes", "ProtectKernelModules=yes", "ProtectKernelLogs=yes", "ProtectControlGroups=yes",
    "ProtectClock=yes", "ProtectHostname=yes", "ProtectProc=invisible", "CapabilityBoundingSet=",
  ]

  /// Whether a private `/tmp` would hide a path.
  private static func isTemporary(_ path: String) -> Bool { path.hasPrefix("/tmp/") || path.hasPrefix("/var/tmp/") }

  /// Returns a word as systemd parses it: quoted, with `%` and, in a command, `$` doubled.
  static func quoted(_ word: String, isCommand: Bool) -> String {
    var text = word.replacing("%", with: "%%")
    if isCommand { text = text.replacing("$", with: "$$") }
    let plain = text.utf8.allSatisfy { byte in
      byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "'")
        && byte != UInt8(ascii: "\\")
        && byte != UInt8(ascii: ";")
    }
    guard !plain || text.isEmpty else { return text }
    return "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }

  /// How a unit file came about.
  enum Origin: Sendable {
    /// Watchify has written it, and it is unchanged.
    case written
    /// Watchify has written it, and it was changed since.
    case edited
    /// Something else has written it.
    case foreign
  }

  /// Returns how a unit file with the given contents came about.
  static func origin(of text: String) -> Origin {
    guard let end = text.firstIndex(of: "\n"), text.hasPrefix(mark) else { return .foreign }
    let stated = text[..<end].dropFirst(mark.count)
    return stated == checksum(String(text[text.index(after: end)...])) ? .written : .edited
  }

  /// The checksum FNV-1a, 64 bits. It detects edits, not attacks: who can edit the file can also write a checksum.
  private static func checksum(_ text: String) -> String {
    var sum: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in text.utf8 { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01b3 }
    let digits = String(sum, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
