import CofferTestSupport
import Foundation
import Testing

@Suite("doctor", .serialized)
struct DoctorTests {
  let sandbox: Sandbox

  init() throws {
    sandbox = try Sandbox()
    let folder = sandbox.url.appendingPathComponent("home")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  }

  private static let noHome = "HOME is not set to an absolute path."
  private static let setHome = "Set HOME, or XDG_DATA_HOME and XDG_CONFIG_HOME."

  /// A command that runs without inotify instances. It uses its own user namespace, since the real limit is global.
  private static let withoutWatches =
    "unshare -Ur sh -c 'echo 0 > /proc/sys/user/max_inotify_instances && exec coffer \"$@\"' sh"

  static let systemFaults = [
    Fault("HOME is relative", environment: [("HOME", "relative")], "problem", "home", noHome, fix: setHome),
    Fault("HOME is not set", environment: [("HOME", nil)], "problem", "home", noHome, fix: setHome),
    Fault(
      "no HOME and so no store", environment: [("HOME", nil)], "problem", "store",
      "HOME is not an absolute path, so there is no default store: use --store PATH.",
      fix: "Set HOME, or name the store: coffer doctor STORE"),
    Fault(
      "no HOME, and none is needed", of: ["memory:"],
      environment: [("HOME", nil), ("XDG_DATA_HOME", "ROOT/home"), ("XDG_CONFIG_HOME", "ROOT/home")], "ok", "home",
      "not needed: XDG_DATA_HOME and XDG_CONFIG_HOME are set"),
    Fault("no fault", "ok", "change notices", "changes by other processes arrive at once"),
    Fault(
      "a file in the way of the data", "problem", "application support",
      "ROOT/home/.local is not a directory, but one is required there.", fix: "mv ROOT/home/.local ROOT/home/.local.old"
    ) { try await $0.prepare("touch .local") },
    Fault(
      "a read-only disk", environment: [("XDG_DATA_HOME", "ROOT/disk/data")], "problem", "application support",
      "ROOT/disk is on a file system that is mounted read-only.",
      fix: "As root: mount -o remount,rw \"$(findmnt -no TARGET --target ROOT/disk)\""
    ) { try SmallDisk(at: $0.path("disk"), size: "1m,ro") },
    Fault(
      "a disk that is almost full", environment: [("XDG_DATA_HOME", "ROOT/disk/data")], "warning",
      "application support",
      "ROOT/disk has 1.0 MiB left.", fix: "Free some space: a commit needs some megabytes."
    ) { try SmallDisk(at: $0.path("disk"), size: "1m") },
    Fault(
      "a full disk", environment: [("XDG_DATA_HOME", "ROOT/disk/data")], "problem", "application support",
      "ROOT/disk has 64.0 KiB left.", fix: "Free some space: a commit needs some megabytes."
    ) { try SmallDisk(at: $0.path("disk"), size: "64k") },
    Fault(
      "no more watches", by: withoutWatches, "warning", "change notices",
      "The system has no watches left (Too many open files): changes by other processes are polled for and arrive "
        + "late.", fix: "As root: sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288"
    ) {
      try await $0.bash(withoutWatches + " version").status == 0 ? true : nil
    },
  ]

  @Test("Faults of the system", arguments: systemFaults)
  func system(_ fault: Fault) async throws {
    try await fault.check(in: sandbox, with: Sandbox.doctorsHome(sandbox.url.path))
  }

  static let storesFaults = [
    Fault(
      "no store yet", "ok", "sqlite:ROOT/home/.local/share/coffer/coffer.db",
      "does not exist yet; the first write creates it"),
    Fault("a good store", of: ["a.db"], "ok", "sqlite:a.db", "1 key") {
      try await $0.prepare("coffer set a 1 --store a.db")
    },
    Fault(
      "a directory for a database", of: ["d"], "problem", "sqlite:d",
      "The path is a directory; an SQLite store is a file.",
      fix: "Give the path of a file, or file:d for a file per key."
    ) { try await $0.prepare("mkdir d") },
    Fault(
      "a store of files for a database", of: ["sqlite:d"], "problem", "sqlite:d",
      "The path is a store of files: write file:d.",
      fix: "Try 'coffer help'."
    ) { try await $0.prepare("coffer set a 1 --store file:d") },
    Fault(
      "another program's file", of: ["t"], "problem", "sqlite:t",
      "The file is not a database. (SQLite 26: file is not a database)",
      fix: "Give the path of a store, or of a file that does not exist yet. Nothing was changed."
    ) { try await $0.prepare("head -c 9000 /dev/zero | tr '\\0' x > t") },
    Fault(
      "a torn database", of: ["a.db"], "problem", "sqlite:a.db",
      "The database file is damaged: its pages are inconsistent. (SQLite 11: database disk image is malformed)",
      fix: "Keep a copy of the file and its -wal file, then restore a backup. Nothing was changed."
    ) { try await $0.prepare("coffer set a 1 --store a.db; truncate -s 4096 a.db") },
    Fault(
      "a damaged value", of: ["a.db"], "problem", "sqlite:a.db", "1 value of 1 cannot be read.",
      fix: "coffer verify --store sqlite:a.db"
    ) {
      try await $0.prepare("coffer set a 1 --store a.db")
      try sql("UPDATE coffer_values SET value = x'00ff'", on: $0.path("home/a.db"))
      return try await $0.prepare("coffer get a --store a.db || true")  // Adopts the change of another program.
    },
    Fault(
      "a newer format", of: ["a.db"], "problem", "sqlite:a.db",
      "The store was written by a newer version: format 99, this one reads up to 3.",
      fix: "Update the application that opens it. Nothing was changed."
    ) {
      try await $0.prepare("coffer set a 1 --store a.db")
      try sql("UPDATE coffer_meta SET value = 99 WHERE name = 'format'", on: $0.path("home/a.db"))
      return true
    },
    Fault(
      "a file for a store of files", of: ["file:ROOT/home/f"], "problem", "file:ROOT/home/f",
      "ROOT/home/f is not a directory, and a store of files is one.",
      fix: "Give the path of a directory. Nothing was changed."
    ) { try await $0.prepare("touch f") },
    Fault(
      "a store of files without its journal", of: ["file:f"], "warning", "file:f",
      "The journal of the store is missing; its revisions start again.",
      fix: "coffer ls --store file:f rebuilds it from the files."
    ) { try await $0.prepare("coffer set a 1 --store file:f; rm f/.coffer/journal.db*") },
    Fault("a good store of files", of: ["file:f"], "ok", "file:f", "1 key") {
      try await $0.prepare("coffer set a 1 --store file:f")
    },
    Fault(
      "many values kept for snapshots", of: ["file:f"], "warning", "file:f",
      "1,001 replaced values (5 B) are kept for open snapshots.",
      fix: "End the program that holds a snapshot open; the next commit after that, or the next opening of the "
        + "store, removes them."
    ) {
      try await $0.prepare(
        "coffer set a 1 --store file:f; cd f/.coffer/retained; seq -f '%032.0f' 1000 | xargs touch; printf 12345 > x")
    },
    Fault("preferences of another program", of: ["prefs:p"], "ok", "prefs:p", "0 keys") {
      try await $0.prepare("mkdir .config; echo '<plist version=\"1.0\"><dict/></plist>' > .config/p.plist")
    },
    Fault(
      "damaged preferences", of: ["prefs:p"], "problem", "prefs:p",
      "The preferences are damaged: the file is not a property list of names and values. ROOT/home/.config/p.plist",
      fix: "Its bytes stay where they are. Restore a backup of the file, or move it away to start with an empty store."
    ) { try await $0.prepare("mkdir .config; echo '<plist><di' > .config/p.plist") },
    Fault(
      "damaged preferences with a copy", of: ["prefs:p"], "warning", "prefs:p",
      "The file cannot be read. The preferences are damaged: the file is not a property list of names and values.",
      fix: "Use the store, which serves the last copy that Coffer wrote, or restore a backup."
    ) { try await $0.prepare("coffer set a 1 --store prefs:p; echo '<plist><di' > .config/p.plist") },
    Fault(
      "a directory for preferences", of: ["prefs:p"], "problem", "prefs:p",
      "ROOT/home/.config/p.plist is a directory, but a file is required there.",
      fix: "mv ROOT/home/.config/p.plist ROOT/home/.config/p.plist.old"
    ) { try await $0.prepare("mkdir -p .config/p.plist") },
    Fault(
      "an invalid name", of: ["prefs:a/b"], "problem", "prefs:a/b",
      "'a/b' cannot be the name of a suite.",
      fix: "Use up to 128 letters, digits, '.', '_' and '-', the first not a dot: com.example.shop. "
        + "Nothing was read or written."),
  ]

  @Test("Faults of a store", arguments: storesFaults)
  func stores(_ fault: Fault) async throws {
    try await fault.check(in: sandbox, with: Sandbox.doctorsHome(sandbox.url.path))
  }

  private static let seal =
    "umask 077; printf 'open sesame' > words; printf s3cret | coffer set a - --store sealed:s --passphrase-file words; "

  static let sealedFaults = [
    Fault("good", of: ["sealed:s"], options: ["--passphrase-file", "words"], "ok", "sealed:s", "1 key") {
      try await $0.prepare(seal)
    },
    Fault("no passphrase", of: ["sealed:s"], "ok", "sealed:s", "sealed; no passphrase was given to open it") {
      try await $0.prepare(seal)
    },
    Fault(
      "gone", of: ["sealed:s"], "problem", "sealed:s",
      "The sealed file is gone, though s.coffer/journal.db and s.coffer/copy remain.",
      fix: "Restore it from a backup or the copy; or, to start with an empty store: rm -r s.coffer"
    ) { try await $0.prepare(seal + "rm s") },
    Fault(
      "another kind of file", of: ["sealed:s"], "problem", "sealed:s", "The file is not a sealed store.",
      fix: "Check the path. Nothing was changed."
    ) { try await $0.prepare("umask 077; head -c 500 /dev/zero > s") },
    Fault(
      "truncated", of: ["sealed:s"], options: ["--passphrase-file", "words"], "warning", "sealed:s",
      "The file cannot be read. The sealed store is damaged: its values are corrupt.",
      fix: "Use the store, which serves the last copy that Coffer wrote, or restore a backup."
    ) { try await $0.prepare(seal + "truncate -s -1 s") },
    Fault(
      "truncated, and no copy", of: ["sealed:s"], options: ["--passphrase-file", "words"], "problem", "sealed:s",
      "The sealed store is damaged: its values are corrupt. ROOT/home/s",
      fix: "Its bytes stay where they are. Restore a backup of the file, or move it away to start with an empty store."
    ) { try await $0.prepare(seal + "truncate -s -1 s; rm s.coffer/copy") },
    Fault(
      "newer", of: ["sealed:s"], "problem", "sealed:s",
      "The file was sealed by a newer version (format 9, key derivation 1).",
      fix: "Update the program. Nothing was changed."
    ) { try await $0.prepare("umask 077; (printf 'COFFSEAL\\011\\001'; head -c 500 /dev/zero) > s") },
    Fault(
      "readable by all", of: ["sealed:s"], "warning", "sealed:s", "Other users may read or write the sealed file.",
      fix: "chmod 600 s"
    ) { try await $0.prepare(seal + "chmod 644 s") },
    Fault(
      "no file with the passphrase", of: ["sealed:s"], options: ["--passphrase-file", "ROOT/none"], "problem",
      "passphrase",
      "The passphrase cannot be read from ROOT/none.", fix: "Check the path; this user must be able to read it."
    ) { try await $0.prepare(seal) },
    Fault(
      "a passphrase that all can read", of: ["sealed:s"], options: ["--passphrase-file", "ROOT/home/my words"],
      "problem", "passphrase",
      "Other users may read or change the passphrase in ROOT/home/my words, so no store is opened with it.",
      fix: "chmod 600 'ROOT/home/my words', and change the passphrase if it was read."
    ) { try await $0.prepare(seal + "cp words 'my words'; chmod 644 'my words'") },
    Fault(
      "a wrong passphrase", of: ["sealed:s"], options: ["--passphrase-file", "wrong"], "problem", "sealed:s",
      "The passphrase does not open the store.", fix: "Try again with the right one. Nothing was read or changed."
    ) { try await $0.prepare(seal + "printf guess > wrong") },
    Fault(
      "a chain without a bus", of: ["keychain:shop+sealed:s"], "ok", "chain",
      "sealed:ROOT/home/s is selected: it holds secrets already"
    ) { try await $0.prepare(seal) },
  ]

  @Test("Faults of a sealed file", arguments: sealedFaults)
  func sealed(_ fault: Fault) async throws {
    try await fault.check(in: sandbox, with: Sandbox.doctorsHome(sandbox.url.path))
  }
}
