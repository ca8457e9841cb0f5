import CofferFileSystem
import CofferRouter
import CofferTerminal
import Foundation

/// Implements `coffer audit`, which reports the keys of an application and what is stored under them.
func auditKeys(_ invocation: Invocation) async throws -> ExitStatus {
  let manifest = try StorageManifest(decoding: declaredKeys(invocation))
  let sources = try KeySources(invocation, forSeveralStores: true)
  var opened: [any StorageEngine] = []
  let report = await AuditReport(of: manifest, at: Date(), foldsUndeclared: !invocation.has(.all)) { entry in
    guard let store = entry.store else {
      throw StorageError(.unsupported, "Only the application itself can read this store.")
    }
    do {
      let location = try StoreLocation(parsing: store)
      return try await location.audited(sources.passphrases.options(creating: false)) {
        let engine = try await openStore(
          at: location, sources, creating: false, access: invocation.access, for: .names)
        opened.append(engine)
        return engine
      }
    } catch let error as CommandError where error.status == .notFound {
      return .missing  // The application has not created it yet.
    } catch let error as CommandError {
      throw StorageError(.inputOutput, error.status == .usage ? error.message : error.text)
    }
  }
  if let path = invocation.options[.html] { try write(report.html, to: path) }
  let output = Output.standard
  if invocation.has(.json) {
    try output.write(report.encoded + Data("\n".utf8))
  } else {
    try output.write(report.text(output.style))
  }
  try output.flush()
  for engine in opened { try await engine.close() }
  let isWhole = report.entries.allSatisfy { entry in
    if case .unavailable = entry.state { entry.key.obstacle != nil } else { true }
  }
  return isWhole ? .ok : .failure
}

private func declaredKeys(_ invocation: Invocation) throws -> Data {
  guard let operand = invocation.operands.first, let path = operand.text else {
    throw Command.mistake("KEYS is not valid UTF-8.", .audit)
  }
  let limit = 64 << 20
  if operand.isStandardInput { return try Input.standard.read(limit: limit) }
  return try Input.file(path).read(limit: limit)
}

/// Replaces the page atomically, so that a reader never sees a part of it.
private func write(_ page: Data, to path: String) throws {
  let parts = PathParts(URL(fileURLWithPath: path).path)
  do { try OpenDirectory(parts.parent).replace(parts.last, with: page) } catch {
    throw CommandError(.failure, error.code.description, error.description)
  }
}

extension AuditReport {
  fileprivate func text(_ style: Style) -> String {
    var stores: [String] = []
    for entry in entries where !stores.contains(entry.store) { stores.append(entry.store) }
    var text =
      "\(application.oneLine()): \(counted(entries.count, "declared key")) in \(counted(stores.count, "store"))\n"
    for remark in remarks { text += style.yellow(remark.oneLine()) + "\n" }
    for store in stores {
      text += "\n\(style.bold(store.oneLine()))\n"
      for found in encryption where found.store == store { text += "  \(found.words)\n" }
      for entry in entries where entry.store == store { text += entry.text(style) }
    }
    guard !undeclared.isEmpty else { return text }
    text += "\n\(style.bold("Stored, but not declared"))\n"
    for row in undeclared {
      let size = row.size.map { ", \(byteCount($0))" } ?? ""
      let count = row.count == 1 ? "" : ", \(row.count) values"
      text +=
        "  \(style.yellow(row.name.oneLine() + (row.count == 1 ? "" : "…"))) in \(row.store.oneLine())\(count)\(size)\n"
      guard !row.examples.isEmpty else { continue }
      text += "      \(style.dim(row.examples.map { $0.oneLine(limit: 32) }.joined(separator: "  ")))\n"
    }
    if undeclared.contains(where: { $0.count > 1 }) {
      text += style.dim("  Names with a common beginning are one line; --all lists each.") + "\n"
    }
    return text
  }
}

extension AuditReport.Entry {
  fileprivate func text(_ style: Style) -> String {
    let stored =
      switch state {
      case .present(let size, let changed): joined([size.map { byteCount($0) } ?? "stored"], changed)
      case .members(let count, let size, let changed):
        joined([counted(count, "value")] + (size.map { [byteCount($0)] } ?? []), changed)
      case .absent: style.dim("no value")
      case .unavailable(let reason): style.red("unavailable: \(reason.oneLine())")
      }
    let sync = key.declaredSync.map { "\(key.sync) (declared \($0))" } ?? key.sync
    let secret = key.isSensitive ? style.yellow(" secret") : ""
    let family = key.family.map { "… (family by \($0))" } ?? ""
    let lifetime = key.lifetimeInWords.map { " · lifetime: \($0)" } ?? ""
    let form = "\(key.owner) · \(key.type) as \(key.serializer) · \(key.security)"
    return """
        \(style.bold(key.name.oneLine()))\(family.oneLine())\(secret)  \(stored)
          \(key.description.oneLine())
          \(style.dim(form.oneLine()))
          \(style.dim("platforms: \(key.availability) · sync: \(sync)\(lifetime)".oneLine()))

      """
  }

  private func joined(_ parts: [String], _ changed: Date?) -> String {
    let date = changed.map { [$0.formatted(.iso8601.dateSeparator(.dash).dateTimeSeparator(.space))] } ?? []
    return (parts + date).joined(separator: ", ")
  }
}
