// `import CofferDatabase` gives what an application needs of a database: its store, transactions, changes and backups.
@_exported public import CofferCore
@_exported public import CofferSQLite
