/// Finds waits for a time in tests, which is too short on a busy machine and too long on all others, and copies of
/// `eventually`. A line is excused by a comment at its end that says why: `// time passes: the link is slow`.
func sleeps(_ file: SourceFile) -> [Finding] {
  let sleeps = file.code(with: "sleep(").filter { index in
    file.code[index].contains(/(?:^|[^\w.]|\b(?:Task|Thread|Foundation|Glibc)\.|Clock\(\)\.)(?:u|nano)?sleep\(/)
      && !file.lines[index].contains("  // time passes: ")
  }
  return sleeps.map { file.finding($0, "wait with 'eventually' or 'hang' of CofferTesting, or say why time must pass") }
    + file.findings("use the one of CofferTesting", with: "func eventually(") { _ in true }
}
