public import Foundation

extension AuditReport {
  /// The report as a self-contained HTML page without scripts, fonts or images. It follows the reader's light or dark
  /// setting, and can be printed.
  public var html: Data { Data(page.utf8) }

  private var page: String {
    """
    <!doctype html>
    <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
    <title>\(application.html): stored data</title><style>\(Self.style)</style></head><body><main>
    <header><p class="brand">Coffer audit</p><h1>Stored data of \(application.html)</h1>
    <p class="lead">\(summary.html)</p>\(remarks.map { "<p class=\"bad\">\($0.html)</p>" }.joined())</header>
    \(stores.map(section).joined(separator: "\n"))
    \(undeclaredSection)
    <footer>Created \(date.formatted(.iso8601).html). This page has names, sizes and dates, but no values.</footer>
    </main></body></html>

    """
  }

  // MARK: Parts

  private var summary: String {
    let secrets = entries.count { $0.key.isSensitive }
    let encrypted = entries.count { $0.key.keySource != nil }
    let stored = entries.count {
      switch $0.state {
      case .present, .members: true
      case .absent, .unavailable: false
      }
    }
    let undeclared =
      switch undeclared.reduce(0, { $0 + $1.count }) {
      case 0: "They hold no undeclared values."
      case 1: "They hold one undeclared value."
      case let count: "They hold \(count.grouped) undeclared values."
      }
    return "\(Self.count(entries.count, "declared key")), \(stored) with a value, \(Self.count(secrets, "secret")), "
      + "\(encrypted) encrypted, in \(Self.count(stores.count, "store")). \(undeclared)"
  }

  /// The stores in the order of their first key.
  private var stores: [(name: String, entries: [Entry])] {
    var names: [String] = []
    for entry in entries where !names.contains(entry.store) { names.append(entry.store) }
    return names.map { name in (name, entries.filter { $0.store == name }) }
  }

  private func section(_ store: (name: String, entries: [Entry])) -> String {
    """
    <section><h2><code>\(store.name.html)</code></h2>\(encryptionNote(store.name))
    <div class="scroll"><table class="keys">
    <colgroup>\(Self.columns)</colgroup>
    <thead><tr><th>Key</th><th>Secured</th><th>Form</th><th>Owner</th><th>Platforms</th><th>Sync</th>
    <th class="number">Size</th><th>Last change</th></tr></thead><tbody>
    \(store.entries.map(row).joined(separator: "\n"))
    </tbody></table></div></section>
    """
  }

  private func encryptionNote(_ store: String) -> String {
    let words = encryption.first { $0.store == store }?.words
    let note = words ?? (store.isSealedFile ? "All values sealed in one file, under a passphrase" : nil)
    return note.map { "<p class=\"encryption\">\($0.html).</p>" } ?? ""
  }

  private func row(_ entry: Entry) -> String {
    let key = entry.key
    let secret = key.isSensitive ? " <span class=\"badge secret\">secret</span>" : ""
    let family = key.family.map { " <span class=\"badge family\">family by \($0.html)</span>" } ?? ""
    let lifetime = key.lifetimeInWords.map { "<p class=\"note\">expires after \($0.html)</p>" } ?? ""
    // A secret is declared for a keychain, and a sealed file may be used in its stead.
    let security = entry.store.isSealedFile ? key.security.replacing("keychain", with: "sealed file") : key.security
    let source = key.keySource.map { "<p class=\"note\">key of \($0.html)</p>" } ?? ""
    let sync =
      key.sync.breakableHTML
      + (key.declaredSync.map { " <span class=\"note\">declared \($0.breakableHTML)</span>" } ?? "")
    return """
      <tr><td><strong>\(key.name.html)\(family.isEmpty ? "" : "…")</strong>\(family)\(secret)
      <p class="note">\(key.description.html)</p>\(Self.note(entry.migration))\(Self.note(of: entry))</td>
      <td>\(security.html)\(source)</td>
      <td>\(key.serializer.html)<p class="note">\(key.type.html)</p>\(lifetime)</td>
      <td>\(key.owner.html)</td><td>\(key.availability.breakableHTML)</td><td>\(sync)</td>
      \(Self.cells(entry.state))</tr>
      """
  }

  /// The versions of values that are not of the present version.
  private static func note(of entry: AuditReport.Entry) -> String {
    guard let version = entry.key.version, let versions = entry.versions else { return "" }
    let others = versions.filter { $0.key != version }.sorted { $0.key < $1.key }.map { found, count in
      "\(count) of \(found == 0 ? "no version" : "version \(found)")"
    }
    let text = others.isEmpty ? "" : ", stored: " + others.joined(separator: ", ")
    return "<p class=\"note\">version \(version)\(text.html)</p>"
  }

  private static func note(_ migration: AuditReport.MigrationState?) -> String {
    switch migration {
    case nil: return ""
    case .pending?: return "<p class=\"note\"><span class=\"badge family\">migration pending</span></p>"
    case .interrupted?: return "<p class=\"note\"><span class=\"badge bad\">migration interrupted</span></p>"
    case .unknown(let reason)?: return "<p class=\"note\">migration unknown: \(reason.html)</p>"
    case .done(let outcome, let date, _)?:
      let what =
        switch outcome {
        case .migrated: "migrated"
        case .nothingToMigrate: "nothing to migrate"
        case .destinationKept: "not migrated, since it had a value"
        }
      return "<p class=\"note\">\(what), \(date.formatted(.iso8601.year().month().day()).html)</p>"
    }
  }

  /// The widths of the columns, the same for every store so that the tables line up.
  private static let columns = [250, 190, 155, 105, 170, 145, 95, 120].map { "<col style=\"width:\($0)px\">" }.joined()

  private static func cells(_ state: State) -> String {
    switch state {
    case .present(let size, let changed): return cells(bytes(size), changed)
    case .members(let count, let size, let changed):
      return cells("\(bytes(size))<p class=\"note\">\(Self.count(count, "value"))</p>", changed)
    case .absent: return "<td class=\"number note\">none</td><td></td>"
    case .unavailable(let reason):
      return "<td colspan=\"2\"><span class=\"badge bad\">unavailable</span><p class=\"note\">\(reason.html)</p></td>"
    }
  }

  private static func cells(_ size: String, _ changed: Date?) -> String {
    let changed = changed?.formatted(.iso8601.dateSeparator(.dash).dateTimeSeparator(.space)) ?? "unknown"
    return "<td class=\"number\">\(size)</td><td class=\"when\">\(changed.html)</td>"
  }

  private static func bytes(_ size: Int?) -> String { size.map { $0.grouped + " B" } ?? "unknown" }

  private var undeclaredSection: String {
    guard !undeclared.isEmpty else { return "" }
    let rows = undeclared.map { row in
      let examples = row.examples.map { $0.shortened(to: 80).html }.joined(separator: " · ")
      let note = row.count == 1 ? "" : "…<p class=\"note\">\(examples)</p>"
      return "<tr><td><strong>\(row.name.html)</strong>\(note)</td><td><code>\(row.store.html)</code></td>"
        + "<td class=\"number\">\(row.count.grouped)</td><td class=\"number\">\(Self.bytes(row.size))</td></tr>"
    }
    return """
      <section class="undeclared"><h2>Stored, but not declared</h2><div class="scroll"><table>
      <thead><tr><th>Key</th><th>Store</th><th class="number">Values</th>
      <th class="number">Size</th></tr></thead><tbody>
      \(rows.joined(separator: "\n"))
      </tbody></table></div></section>
      """
  }

  private static func count(_ number: Int, _ word: String) -> String {
    "\(number.grouped) \(word)\(number == 1 ? "" : "s")"
  }

  // MARK: Style

  private static let style = """
    :root{color-scheme:light dark;--ink:#1d2330;--soft:#5c6576;--line:#dfe3ea;--paper:#fbfbf9;--card:#fff;\
    --mark:#8a6d1f;--secret:#7a3db8;--bad:#b3261e}
    @media(prefers-color-scheme:dark){:root{--ink:#e8eaf0;--soft:#9aa3b5;--line:#323847;--paper:#15181f;\
    --card:#1c2029;--mark:#d9b44a;--secret:#c79bf2;--bad:#f2948c}}
    *{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.45 system-ui,sans-serif}
    main{max-width:1280px;margin:0 auto;padding:40px 24px}.brand{margin:0;color:var(--mark);font-weight:600}
    h1{margin:4px 0 8px;font-size:30px;line-height:1.2}.lead{margin:0 0 28px;color:var(--soft);font-size:17px}
    h2{margin:0;padding:14px 18px;font-size:15px;overflow-wrap:anywhere}
    section{background:var(--card);border:1px solid var(--line);border-radius:10px;margin:0 0 22px;overflow:hidden}
    .scroll{overflow-x:auto}table{border-collapse:collapse;width:100%}.keys{table-layout:fixed;min-width:1230px}
    td{overflow-wrap:anywhere}
    th,td{padding:9px 12px 9px 18px;text-align:left;vertical-align:top;border-top:1px solid var(--line)}
    th{color:var(--soft);font-size:13px;font-weight:500;white-space:nowrap}.number{text-align:right;white-space:nowrap}
    .when{font-variant-numeric:tabular-nums}.note{margin:1px 0 0;color:var(--soft);font-size:13px}
    code{font:13px ui-monospace,monospace}.badge{border:1px solid currentColor;border-radius:99px;padding:0 8px;\
    font-size:12px;white-space:nowrap}.secret{color:var(--secret)}.family{color:var(--mark)}.bad{color:var(--bad)}\
    .encryption{margin:-8px 0 12px;padding:0 18px;color:var(--secret);font-size:13px}\
    .undeclared h2{color:var(--bad)}
    footer{color:var(--soft);font-size:13px}@media print{section{break-inside:avoid}}
    """
}

extension Int {
  /// The number with its digits in groups of three.
  fileprivate var grouped: String { formatted(.number.locale(Locale(identifier: "en_GB"))) }
}

extension String {
  /// Whether the location is a sealed file.
  fileprivate var isSealedFile: Bool { hasPrefix("sealed:") }

  /// The first characters of a longer text, with an ellipsis.
  fileprivate func shortened(to limit: Int) -> String { count <= limit ? self : prefix(limit - 1) + "…" }

  /// The text with HTML's special characters escaped.
  fileprivate var html: String {
    var text = ""
    for scalar in escapingControlCharacters.unicodeScalars {
      switch scalar {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      case "'": text += "&#39;"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text
  }

  /// The name of a case, which may be broken into lines between its words.
  fileprivate var breakableHTML: String {
    html.reduce(into: "") { text, character in
      if character.isUppercase, text.last?.isLowercase == true { text += "<wbr>" }
      text.append(character)
    }
  }
}
