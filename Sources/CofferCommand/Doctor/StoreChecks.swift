import Coffer
import CofferFileSystem
import Foundation

/// One store: its place, its files and whether it opens.
struct StoreChecks {
  let location: StoreLocation
  let passphrases: Passphrases

  func all() async -> [Finding] {
    switch location {
    case .chain(let links):
      let (finding, taken) = await chain(links)
      var findings = [finding]
      for (index, link) in links.enumerated() {
        // What is wrong with a home that is not needed is no more than a warning.
        let found = await StoreChecks(location: link, passphrases: passphrases).all()
        findings += index == taken ? found : found.map(\.asWarning)
      }
      return findings
    case .keychain: return KeychainChecks.all()
    case .memory: return [.ok(name, "ends with the command")]
    case .sqlite(let path): return place(path) + (await opening(path))
    case .files(let directory): return place(directory) + (await opening(directory))
    case .preferences(let suite): return await preferences(suite)
    case .sealed(let path): return place(path) + (await sealed(path))
    }
  }

  private var name: String {
    switch location {
    case .sqlite(let path): "sqlite:\(path)"
    case .files(let directory): "file:\(directory)"
    case .memory: "memory:"
    case .preferences(let suite): "prefs:\(suite)"
    case .keychain(let service, let group): "keychain:\(service)" + (group.map { "@\($0)" } ?? "")
    case .sealed(let path): "sealed:\(path)"
    case .chain: "chain"
    }
  }

  /// Nothing to say of a place that is well.
  private func place(_ path: String) -> [Finding] {
    let finding = SystemChecks.usable(name, PathParts(URL(fileURLWithPath: path).path).parent)
    return finding.verdict == .ok ? [] : [finding]
  }

  /// Opens the store without making it, which reads its journal.
  private func opening(_ path: String) async -> [Finding] {
    guard access(path, F_OK) == 0 || errno != ENOENT else {
      return [.ok(name, "does not exist yet; it is made when something is stored")]
    }
    do {
      return [try await withStore(at: location, passphrases) { try await state(of: $0) }]
    } catch {
      return [.problem(name, error)]
    }
  }

  private func state(of engine: any StorageEngine) async throws -> Finding {
    for await availability in engine.availability() {
      if case .unavailable(let reason) = availability {
        return .problem(name, reason, fix: "Open the store again when that is mended.")
      }
      break
    }
    let count = try await Listing(engine: engine, prefix: nil).count()
    guard count.skipped == 0 else {
      return .problem(
        name, "\(counted(count.skipped, "value")) of \(counted(count.all, "key")) cannot be read.",
        fix: "coffer verify --store \(name)")
    }
    return .ok(name, counted(count.all, "key"))
  }

  private func preferences(_ suite: String) async -> [Finding] {
    do {
      let directory = try SystemDirectories.current.url(for: .preferences).path
      let place = SystemChecks.usable(name, directory)
      return (place.verdict == .ok ? [] : [place]) + (await opening(directory + "/" + suite + ".plist"))
    } catch {
      return [.problem(name, error)]
    }
  }

  // MARK: Secrets

  /// The passphrase is not asked for: without one nothing is opened.
  private func sealed(_ path: String) async -> [Finding] {
    var status = stat()
    guard stat(path, &status) == 0 else {
      let wasThere = access(path + ".coffer/journal.db", F_OK) == 0
      return wasThere
        ? [
          .problem(
            name, "The sealed file is gone, though its journal is still there.",
            fix: "Put it back, from a backup or from \(path).coffer/copy")
        ] : [.ok(name, "does not exist yet; it is made when something is stored")]
    }
    var findings: [Finding] = []
    if status.st_mode & 0o077 != 0 {
      findings.append(
        .warning(name, "Other users may read or write the sealed file.", fix: "chmod 600 '\(path)'"))
    }
    do {
      try SealedInspection.inspect(path)
    } catch {
      return findings + [.problem(name, error)]
    }
    findings += passphrases.findings(for: name)
    if passphrases.areGiven, !findings.contains(where: { $0.verdict == .problem }) {
      return findings + (await opening(path))
    }
    return findings + [.ok(name, "sealed; nothing was opened")]
  }

  private func chain(_ locations: [StoreLocation]) async -> (finding: Finding, taken: Int?) {
    do {
      guard let chain = SecretChain(try locations.compactMap(passphrases.link)) else {
        return (.ok("chain", "no homes"), nil)
      }
      let choice = try await chain.choose()
      return (.ok("chain", "\(choice.link) is taken: \(choice.reason)"), choice.index)
    } catch {
      return (.problem("chain", error), nil)
    }
  }
}
