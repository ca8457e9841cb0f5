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

/// Finds requirements that no test names in a comment, although the list does not say so, and numbers of tests that are
/// no requirement's: "- **1.2** *(no test)* what is required" and "// Requirements 1.2, 1.3".
func unshownRequirements(_ file: SourceFile, files: [SourceFile]) -> [Finding] {
  var shown: [Substring: [Finding]] = [:]
  for file in files where file.path.contains("Tests/") {
    for index in file.lines.indices where file.lines[index].hasAny(of: ["// Requirement"]) {
      guard let list = file.lines[index].firstMatch(of: /^\s*\/\/ Requirements? ([0-9., ]+)$/) else { continue }
      for number in list.output.1.split(separator: ", ") {
        shown[number, default: []].append(file.finding(index, "there is no requirement \(number)"))
      }
    }
  }
  let missing = file.lines.indices.compactMap { index -> Finding? in
    guard let item = file.lines[index].firstMatch(of: /^- \*\*(\d\.\d+)\*\* (?:\*\((.*?)\)\*)?/) else { return nil }
    let isShown = shown.removeValue(forKey: item.output.1) != nil
    let isExempt = item.output.2.map { String($0).hasAny(of: ["missing", "no test", "measured"]) } ?? false
    return isShown || isExempt ? nil : file.finding(index, "no test has the comment 'Requirement \(item.output.1)'")
  }
  return missing + shown.values.joined()
}
