package agent.dns.proxy;

import agent.dns.DnsNameResolver;
import agent.dns.NameResolver.Resolved;
import agent.fuzz.FuzzInputs;
import java.io.IOException;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.xbill.DNS.AAAARecord;
import org.xbill.DNS.ARecord;
import org.xbill.DNS.CNAMERecord;
import org.xbill.DNS.Message;
import org.xbill.DNS.Name;
import org.xbill.DNS.Record;
import org.xbill.DNS.Section;

/** Messages of DNS servers. The addresses of an answer are those that its aliases lead to. */
public final class DnsAnswerFuzz {
  private static final String HEAD = "1234818000010002000000000377777703636F6D0000010001";

  /** An address, an alias and its address, addresses of others, a loop, and an IPv6 address. */
  public static final List<byte[]> SEEDS =
      List.of(
          message(HEAD + "C00C00010001000000050004C0000201C00C00010001000000090004C0000202"),
          message(HEAD + "C00C000500010000000500040161C010C02700010001000000090004C0000202"),
          message(HEAD + "C00C00010001000000050004C0000201C01000010001000000090004C0000202"),
          message(HEAD + "C00C000500010000000500040161C010C027000500010000000500020C0C"),
          message(HEAD + "C00C000500010000000500040161C010C02700050001000000050002C00C"),
          message(
              HEAD
                  + "C00C001C00010000000500102001DB8000000000000000000000000000"
                  + "C00C0001000100000005000400000000"));

  private DnsAnswerFuzz() {}

  private static byte[] message(String hex) {
    return HexFormat.of().parseHex(hex.length() % 2 == 0 ? hex : hex + "0");
  }

  /** Reads an answer. */
  public static void fuzzerTestOneInput(byte[] input) throws IOException {
    final Message answer;
    try {
      answer = new Message(input);
    } catch (IOException malformed) {
      return;
    }
    if (answer.getQuestion() == null) {
      return;
    }
    final String text = answer.toString();
    final Name name = answer.getQuestion().getName();
    final Resolved found = DnsNameResolver.read(name, answer);
    final Set<Name> reached = reached(name, answer);
    final Set<String> addresses = new HashSet<>();
    for (final Record record : answer.getSection(Section.ANSWER)) {
      final boolean isAddress = record instanceof ARecord || record instanceof AAAARecord;
      if (isAddress && reached.contains(record.getName())) {
        addresses.add(HexFormat.of().formatHex(record.rdataToWireCanonical()));
      }
    }
    for (final var address : found.addresses()) {
      final String octets = HexFormat.of().formatHex(address.toBytes());
      FuzzInputs.assertSame(true, addresses.contains(octets), text);
      FuzzInputs.assertSame(false, address.toString().startsWith("127."), text);
    }
    FuzzInputs.assertSame(true, found.ttlSec() >= 0, text);
  }

  /** The name and all aliases that lead on from it. */
  private static Set<Name> reached(Name name, Message answer) {
    final Set<Name> reached = new HashSet<>(Set.of(name));
    for (int before = 0; before < reached.size(); ) {
      before = reached.size();
      for (final Record record : answer.getSection(Section.ANSWER)) {
        if (record instanceof CNAMERecord alias && reached.contains(alias.getName())) {
          reached.add(alias.getTarget());
        }
      }
    }
    return reached;
  }
}
