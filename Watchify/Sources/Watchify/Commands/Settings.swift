import Coffer
import CofferRouter
import CofferTerminal
import Foundation
import WatchifyKit

/// Runs `watchify settings`: prints or changes settings.
func settings(_ invocation: Invocation) async throws -> ExitStatus {
  let setting = try invocation.text(at: 0).map(WatchifySetting.setting)
  let value = try invocation.text(at: 1)
  if invocation.has(.reset), setting == nil || value != nil {
    throw Command.mistake("--reset takes a KEY and no VALUE.", .settings)
  }
  return try await withSession(invocation) { session in
    let router = session.container.settings
    if let setting {
      if invocation.has(.reset) {
        try await setting.reset(router)
      } else if let value, try await !setting.write(router, value) {
        throw Command.mistake("\(setting.name) takes \(setting.allowed).", .settings)
      }
    }
    let asJSON = invocation.has(.json)
    var list: [JSON] = []
    var columns = Columns(.left, .text, .text)
    for setting in setting.map({ [$0] }) ?? WatchifySetting.all {
      let shown = try await setting.read(router)
      let isDefault = shown.isDefault
      list.append(setting.json(shown))
      columns.add([setting.name, shown.text.oneLine() + (isDefault ? "" : " *"), setting.about]) {
        isDefault ? $1 : $0.bold($1)
      }
    }
    let output = Output.standard
    if asJSON {
      try output.writeLine((setting == nil ? JSON.object([("settings", .list(list))]) : list[0]).line)
    } else {
      try output.write(columns)
      if let setting { try output.writeText("It takes \(setting.allowed); the default is \(setting.usual).") }
    }
    try output.flush()
    return .ok
  }
}

extension WatchifySetting {
  fileprivate func json(_ shown: Shown) -> JSON {
    .object([
      ("name", .text(name)), ("value" as StaticString, shown.value.json), ("isDefault", .flag(shown.isDefault)),
      ("default", .text(usual)), ("about", .text(about)), ("allowed", .text(allowed)),
    ])
  }
}

/// Runs `watchify audit`: reports which settings are stored.
func audit(_ invocation: Invocation) async throws -> ExitStatus {
  try await withSession(invocation) { session in
    let report = await session.container.settings.auditReport()
    let output = Output.standard
    if invocation.has(.json) {
      try output.write(try report.encoded + Data("\n".utf8))
    } else {
      var columns = Columns(.left, .left, .text)
      for entry in report.entries {
        let state =
          switch entry.state {
          case .present(let size, changed: _): size.map { byteCount($0) } ?? "stored"
          case .members(let count, size: _, changed: _): counted(count, "value")
          case .absent: "not stored: the default applies"
          case .unavailable(let reason): "unavailable: \(reason.oneLine())"
          }
        columns.add([entry.key.name, state, entry.key.description])
      }
      for remark in report.remarks { try output.writeText(remark.oneLine()) }
      try output.write(columns)
      for value in report.undeclared {
        try output.writeText("stored, but not declared: \(value.name.oneLine())\(value.count == 1 ? "" : "…")")
      }
    }
    try output.flush()
    return .ok
  }
}
