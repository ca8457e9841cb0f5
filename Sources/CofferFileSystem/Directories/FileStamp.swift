package import Foundation

/// The inode, size and modification time of a file. A file with an unchanged stamp is assumed not to have been written.
package struct FileStamp: Hashable, Sendable {
  package let inode, size, seconds, nanoseconds: UInt64

  package init(inode: UInt64, size: UInt64, seconds: UInt64, nanoseconds: UInt64) {
    (self.inode, self.size, self.seconds, self.nanoseconds) = (inode, size, seconds, nanoseconds)
  }

  package init(_ status: stat) {
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    inode = UInt64(status.st_ino)
    size = UInt64(status.st_size)
    seconds = UInt64(bitPattern: Int64(time.tv_sec))
    nanoseconds = UInt64(time.tv_nsec)
  }
}

/// The bytes of a file and the stamp under which they were read.
package struct FileContent: Sendable {
  package let data: Data
  package let stamp: FileStamp

  package init(data: Data, stamp: FileStamp) { (self.data, self.stamp) = (data, stamp) }
}
