import CofferTerminal
import WatchifyKit

/// The syntax of the commands that bring news elsewhere.
extension Table {
  static let notify = Syntax(
    summary: "manage and test the channels that deliver news",
    operands: [
      Operand(
        name: "ACTION", completion: .words(["add", "list", "remove", "test"]), summary: "add, list, remove or test",
        isRequired: true),
      Operand(name: "NAME", summary: "the channel; for test, all of them by default"),
      Operand(name: "ADDRESS", summary: "where it delivers; - or nothing: a line of standard input"),
    ],
    options: [
      .shape, .secretFrom, .user, .from, .to, .daily, .allowPrivate, .certificates, .data, .json,
    ],
    details: [
      """
      A channel is a webhook or a mail server. It delivers news found after it was
      added, besides the desktop or terminal that the settings select. Addresses,
      tokens and passwords lie in the desktop's keyring or, without one, in a sealed
      file beside the database, whose passphrase is the systemd credential 'watchify',
      the file of the setting secretsPassphraseFile, or typed.
      """,
      """
      Addresses of Discord and Slack contain a token, so they are read from standard
      input. --secret-from gives the token of ntfy, Gotify and Matrix, the password of
      e-mail, or the key with which the shape json is signed.
      """,
    ],
    examples: [
      Example("watchify notify test", "every channel"),
      Example("watchify notify add phone https://ntfy.sh/TOPIC --shape ntfy", "a phone"),
      Example("watchify notify add chat --shape discord < address.txt", "a chat"),
      Example("watchify notify remove phone", "with its secret"),
    ],
    aliases: ["notification", "channels"])

  static let feed = Syntax(
    summary: "print news as an Atom feed",
    options: [.store, .type, .since, .unread, .wish, .limit, .data],
    details: ["Each entry is news of one kind about one product, and never changes."],
    examples: [
      Example("watchify feed > news.xml", "for a feed reader"),
      Example("watchify feed --store Allbirds --type price", "prices of one store"),
      Example("watchify feed --wish 3f2a91c0", "one wish"),
    ],
    aliases: ["atom", "rss"])
}
