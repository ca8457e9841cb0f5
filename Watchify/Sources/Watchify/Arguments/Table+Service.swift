import CofferTerminal

/// The syntax of the command on the service.
extension Table {
  static let service = Syntax(
    summary: "let 'watchify serve' run in the background, also after a restart",
    operands: [
      Operand(
        name: "ACTION", completion: .words(["install", "status", "remove"]), summary: "install, status or remove",
        isRequired: true)
    ],
    options: [.linger, .force, .data, .json],
    details: [
      """
      Installs a unit of systemd for this user, which starts at login; with --linger,
      at the start of the system. It is 'watchify serve': it syncs the stores, and
      serves the page at http://127.0.0.1:8737. It may write only to the folder of
      the database.
      """,
      """
      A unit that was edited is neither replaced nor removed without --force. Changes
      are better kept apart, with 'systemctl --user edit watchify'. 'status' exits with
      status 3 if no service is installed, and 1 if it does not run.
      """,
    ],
    examples: [
      Example("watchify service install", "start it now and at each login"),
      Example("watchify service install --linger", "also while nobody is logged in"),
      Example("watchify service status", "whether it runs"),
      Example("watchify service remove", "end it; the database is kept"),
    ],
    aliases: ["systemd", "install", "autostart", "background"])
}
