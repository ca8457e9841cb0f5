/// The access with which a store is opened.
public enum StoreAccess: Hashable, Sendable {
  /// Reading and writing, with a fallback to reading.
  ///
  /// If an existing store cannot be written (a read-only file system, missing permissions, a full disk), it is opened
  /// for reading only; see ``StorageEngine/isReadOnly``.
  case readWriteOrReadOnly
  /// Reading and writing; opening throws `permissionDenied` if the store cannot be written.
  case readWrite
  /// Reading only: opening and using the store changes nothing in it.
  ///
  /// No file is created, written or removed; no lock blocks a writer; nothing is upgraded, rolled forward, swept or
  /// quarantined; a locked keyring stays locked. A missing store is `notFound`, even if missing stores are created
  /// otherwise. Reads, listings and change streams work as usual, also while other processes write. Every write throws
  /// ``StorageError/Code-swift.struct/readOnly``.
  case readOnly
}
