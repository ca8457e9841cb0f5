import Foundation

/// Returns the relative targets of links and images in a Markdown file, with the indices of their lines.
func links(in file: SourceFile) -> [(line: Int, target: String)] {
  var isCode = false
  var found: [(line: Int, target: String)] = []
  for (index, line) in file.lines.enumerated() {
    if line.hasAny(of: ["```"]), line.contains(/^\s*```/) { isCode.toggle() }
    if isCode || !line.hasAny(of: ["](", "]:", "=\""]) { continue }
    let text = line.replacing(/`[^`]*`/, with: "")
    let targets =
      text.matches(of: /\]\(\s*<?([^)>\s]+)>?[^)]*\)/).map(\.output.1)
      + text.matches(of: /(?:src|href|srcset)="([^"]+)"/).map(\.output.1)
      + text.matches(of: /^\[[^\]]+\]:\s*(\S+)/).map(\.output.1)
    for target in targets where !target.contains(/^(?:[a-z]+:|#)/) {
      found.append((index, String(target.prefix { $0 != "#" && $0 != "?" })))
    }
  }
  return found
}

/// Returns the repository path that a link in `file` refers to.
func resolved(_ target: String, from file: SourceFile) -> String {
  let target = target.removingPercentEncoding ?? target
  let folder = target.hasPrefix("/") ? [] : file.path.split(separator: "/").dropLast()
  var parts: [Substring] = []
  for part in folder + target.split(separator: "/") where part != "." {
    if part == "..", !parts.isEmpty, parts.last != ".." { parts.removeLast() } else { parts.append(part) }
  }
  return parts.joined(separator: "/")
}

/// Finds links to files that do not exist.
func brokenLinks(_ file: SourceFile, paths: Set<String>) -> [Finding] {
  links(in: file).compactMap { line, target in
    let path = resolved(target, from: file)
    guard !path.isEmpty, !paths.contains(path), !paths.contains(where: { $0.hasPrefix(path + "/") }) else { return nil }
    return file.finding(line, "the target of the link, '\(target)', does not exist")
  }
}

/// Finds documents without a link to them, which would be neither read nor kept up to date.
func unlinkedDocuments(_ files: [SourceFile], paths: Set<String>) -> [Finding] {
  var reached: Set<String> = []
  for file in files where file.path.hasSuffix(".md") {
    for (_, target) in links(in: file) {
      let path = resolved(target, from: file)
      if path != file.path { reached.insert(path) }
    }
  }
  return paths.sorted().filter { $0.hasPrefix("docs/") && !reached.contains($0) }
    .map { Finding(path: $0, line: 1, message: "no document links to this one: add a link, or remove it") }
}

/// Returns the tasks of the script `run`.
func tasks(of run: SourceFile) -> Set<String> {
  Set(run.lines.compactMap { $0.firstMatch(of: /^task_([a-z]+)\(\)/).map { String($0.output.1) } })
}

/// Finds tasks that a document or a script names and that `run` does not define.
func unknownTasks(_ file: SourceFile, tasks: Set<String>) -> [Finding] {
  file.lines.indices.filter { file.lines[$0].hasAny(of: ["./run "]) }.flatMap { index in
    file.lines[index].matches(of: /\.\/run ([a-z]+)/).map { String($0.output.1) }.filter { !tasks.contains($0) }
      .map { file.finding(index, "'./run \($0)' does not exist") }
  }
}

/// Finds suites without a link and tests that do not exist in the last column of a table that names them:
/// "[CacheTests] `first`, `second`".
func missingTests(_ file: SourceFile, files: [SourceFile]) -> [Finding] {
  var suites: [Substring: SourceFile] = [:]
  for link in file.lines.compactMap({ $0.firstMatch(of: /^\[(\w+)\]:\s*(\S+)/) }) {
    let path = resolved(String(link.output.2), from: file)
    suites[link.output.1] = files.first { $0.path == path }
  }
  return file.lines.indices.filter { file.lines[$0].hasPrefix("|") }.flatMap { index in
    var suite: SourceFile?
    let cell = file.lines[index].split(separator: "|", omittingEmptySubsequences: false).dropLast().last ?? ""
    return cell.matches(of: /\[(\w+)\](?!\()|`(\w+)`/).compactMap { match -> Finding? in
      if let name = match.output.1 {
        suite = suites[name]
        return suite == nil ? file.finding(index, "no link leads to the suite [\(name)]") : nil
      }
      guard let suite, let name = match.output.2 else { return nil }
      let isThere = suite.lines.contains { $0.contains("func \(name)(") || $0.contains("func \(name)<") }
      return isThere ? nil : file.finding(index, "\(suite.path) has no test '\(name)'")
    }
  }
}
