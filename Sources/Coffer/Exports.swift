// `import Coffer` is the first hour: typed values in SQLite, files, preferences or memory. It brings the names that an
// application writes down; what else the modules have, such as the contract of engines, is imported with them.
@_exported public import class CofferCore.CofferEvents
@_exported public import struct CofferCore.KeyName
@_exported public import class CofferCore.MemoryEngine
@_exported public import struct CofferCore.OpenSettings
@_exported public import protocol CofferCore.StorageAdapter
@_exported public import protocol CofferCore.StorageEngine
@_exported public import struct CofferCore.StorageError
@_exported public import enum CofferCore.StoreAccess
@_exported public import enum CofferCore.StoreAvailability
@_exported public import struct CofferCore.StoreCapabilities
@_exported public import enum CofferCore.StoreChange
@_exported public import struct CofferCore.StoreClock
@_exported public import struct CofferCore.StoreCommit
@_exported public import enum CofferCore.StoreDurability
@_exported public import struct CofferCore.StoreEntry
@_exported public import struct CofferCore.StoreEvent
@_exported public import struct CofferCore.StoreOrigin
@_exported public import struct CofferCore.StoreRevision
@_exported public import typealias CofferCore.TransactionID
@_exported public import struct CofferCore.WriteBatch
@_exported public import enum CofferFileSystem.FileDirectory
@_exported public import class CofferFiles.FileStorageAdapter
@_exported public import class CofferFiles.SlotEngine
@_exported public import class CofferFiles.UserDefaultsAdapter
@_exported public import class CofferSQLite.SQLiteEngine
