import CofferCShims
import Foundation

/// The kind of file system that contains a path.
package struct FileSystemKind: Sendable {
  package let name: String
  /// Whether other machines may access it without respecting file locks.
  package let isRemote: Bool
  package let freeBytes: UInt64

  /// Examines the file system of a path; `nil` if the system does not report it.
  package init?(_ path: String) {
    #if canImport(Darwin)
      var status = statfs()
      guard statfs(path, &status) == 0 else { return nil }
      freeBytes = UInt64(status.f_bavail) &* UInt64(status.f_bsize)
      name = withUnsafeBytes(of: status.f_fstypename) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      isRemote = status.f_flags & UInt32(MNT_LOCAL) == 0
    #else
      var (kind, free) = (UInt64(0), UInt64(0))
      guard coffer_file_system(path, &kind, &free) == 0 else { return nil }
      // The numbers of statfs(2).
      let remote: [(kind: UInt64, name: String)] = [
        (0x6969, "nfs"), (0x517B, "smb"), (0xFF53_4D42, "cifs"), (0xFE53_4D42, "smb2"), (0x6573_5546, "fuse"),
        (0x0102_1997, "9p"), (0x00C3_6400, "ceph"), (0x5346_414F, "afs"),
      ]
      freeBytes = free
      name = remote.first { $0.kind == kind }?.name ?? "local"
      isRemote = name != "local"
    #endif
  }
}
