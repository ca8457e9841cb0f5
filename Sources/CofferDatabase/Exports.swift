// `import CofferDatabase` also imports the store, transactions, changes and backups of a database.
@_exported public import CofferCore
@_exported public import CofferSQLite
