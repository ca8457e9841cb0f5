import CofferPostgreSQL

do {
  let engine = try await PostgreSQLEngine.open("postgresql://nobody@127.0.0.1:1/none?store=s")
  try await engine.close()
  preconditionFailure("no server listens there")
} catch let error as StorageError {
  precondition(error.code == .unavailable)
}
