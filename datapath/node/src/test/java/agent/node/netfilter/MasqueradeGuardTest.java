package agent.node.netfilter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.node.netfilter.MasqueradeGuard.Mode;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class MasqueradeGuardTest {
  private static final MasqueradedRange IPV4 =
      MasqueradedRange.of(
          Prefix.parse("10.5.0.0/24"),
          List.of(IpAddress.parse("10.5.0.1"), IpAddress.parse("192.0.2.1")),
          Prefix.parse("10.0.0.0/8"));
  private static final MasqueradedRange IPV6 =
      MasqueradedRange.of(
          Prefix.parse("fd00:5::/96"),
          List.of(IpAddress.parse("fd00:5::1"), IpAddress.parse("fd00:5::1")),
          Prefix.parse("fd00:5::/96"));
  private static final MasqueradePorts PORTS = new MasqueradePorts(1024, 32_767, 7_936);
  private static final MasqueradeRules RULES =
      new MasqueradeRules(List.of(IPV4, IPV6), true, PORTS);
  private static final MasqueradeRules LAST =
      new MasqueradeRules(List.of(IPV4, IPV6), false, PORTS);

  /** A table in memory, which may refuse. */
  private static class Table implements RuleTable {
    final Mode mode;
    String content = "";
    String refusal;
    int installs;
    Refusals dropped = Refusals.NONE;

    Table(Mode mode) {
      this.mode = mode;
    }

    @Override
    public Mode mode() {
      return mode;
    }

    @Override
    public void install(MasqueradeRules rules) {
      if (refusal != null) {
        throw new OperationException(refusal);
      }
      installs++;
      dropped = Refusals.NONE;
      content = "a masquerade\nb MASQUERADE";
    }

    @Override
    public String read() {
      return content;
    }

    @Override
    public Refusals refused() {
      return dropped;
    }

    @Override
    public boolean mayHaveChanged() {
      return true;
    }

    @Override
    public boolean isPresent() {
      return !content.isEmpty();
    }

    @Override
    public void remove() {
      content = "";
    }
  }

  /** Writes down what it learns. */
  private static final class Log implements MasqueradeGuard.Observer {
    final List<String> lines = new ArrayList<>();

    @Override
    public void repaired(String found) {
      lines.add("repaired: " + found);
    }

    @Override
    public void failed(String reason) {
      lines.add("failed: " + reason);
    }

    @Override
    public void inOrder() {
      lines.add("in order");
    }

    void assertLast(String expected) {
      assertEquals(expected, lines.getLast());
    }
  }

  private final Table first = new Table(Mode.NFTABLES);
  private final Table second = new Table(Mode.IPTABLES);
  private final Log log = new Log();
  private boolean isWanted = true;
  private final MasqueradeGuard guard =
      new MasqueradeGuard(RULES, () -> isWanted, List.of(first, second));

  private void assertMode(Mode expected) {
    assertEquals(expected, guard.mode());
  }

  @Test
  void shouldUseTheFirstTableAndRemoveTheRulesOfTheOther() {
    second.content = "of a previous run";
    assertMode(Mode.DISABLED);
    guard.keep(log);
    assertMode(Mode.NFTABLES);
    assertEquals("", second.content);
    log.assertLast("in order");
    guard.keep(log);
    assertEquals(1, first.installs, "nothing has changed");
  }

  @Test
  void shouldUseTheSecondTableWhereTheNodeLacksTheFirst() {
    first.refusal = "no nft";
    guard.keep(log);
    assertMode(Mode.IPTABLES);
    log.assertLast("in order");
  }

  @Test
  void shouldNameWhatEachToolSaysWhereNoneCan() {
    first.refusal = "no nft";
    second.refusal = "no iptables";
    assertEquals(
        "masquerading by netfilter rules failed: no nft; no iptables",
        assertThrows(OperationException.class, () -> guard.keep(log)).getMessage());
    log.assertLast("failed: masquerading by netfilter rules failed: no nft; no iptables");
    assertMode(Mode.DISABLED);
    second.refusal = null;
    guard.keep(log);
    assertMode(Mode.IPTABLES);
    log.assertLast("in order");
  }

  @Test
  void shouldPutRulesBackAndSaySoUntilTheyAreFoundInOrder() {
    guard.keep(log);
    first.content = "";
    guard.keep(log);
    log.assertLast("repaired: nftables rules were removed, installed again");
    assertMode(Mode.NFTABLES);
    guard.keep(log);
    log.assertLast("in order");
    first.content = "a masquerade";
    guard.keep(log);
    log.assertLast("repaired: nftables rules were changed, installed again");
    assertEquals("a masquerade\nb MASQUERADE", first.content);
    assertEquals(3, first.installs);
  }

  @Test
  void shouldAddUpWhatRulesHaveDroppedAlsoOverTheirRepair() {
    guard.keep(log);
    first.dropped = new Refusals(3, 40);
    guard.keep(log);
    guard.keep(log);
    assertEquals(new Refusals(3, 40), guard.refused());
    first.content = "";
    guard.keep(log);
    first.dropped = new Refusals(2, 41);
    guard.keep(log);
    assertEquals(new Refusals(5, 81), guard.refused());
    first.dropped = new Refusals(7, 1); // installed again by another program
    guard.keep(log);
    assertEquals(new Refusals(10, 82), guard.refused());
  }

  @Test
  void shouldNotSayThatItMasqueradesWhereTheRulesAreNotInForce() {
    first.refusal = null;
    final Table broken =
        new Table(Mode.NFTABLES) {
          @Override
          public void install(MasqueradeRules rules) {
            content = "a masquerade"; // of one family alone
          }
        };
    final MasqueradeGuard other = new MasqueradeGuard(RULES, () -> true, List.of(broken));
    assertEquals(
        "masquerading by netfilter rules failed: nftables: the rules disappeared immediately",
        assertThrows(OperationException.class, () -> other.keep(log)).getMessage());
    assertEquals(Mode.DISABLED, other.mode());
  }

  @Test
  void shouldNotMasqueradeWhileARepairFails() {
    guard.keep(log);
    first.content = "";
    first.refusal = "busy";
    second.refusal = "no iptables";
    assertThrows(OperationException.class, () -> guard.keep(log));
    assertMode(Mode.DISABLED);
    first.refusal = null;
    guard.keep(log);
    assertMode(Mode.NFTABLES);
    log.assertLast("in order");
  }

  @Test
  void shouldRemoveTheRulesOnceWhileTheyAreNotWanted() {
    isWanted = false;
    first.content = "of a previous run";
    guard.keep(log);
    assertEquals("", first.content);
    log.assertLast("in order");
    first.content = "later";
    guard.keep(log);
    assertEquals("later", first.content, "asked only once");
    isWanted = true;
    guard.keep(log);
    assertMode(Mode.NFTABLES);
    isWanted = false;
    guard.keep(log);
    assertMode(Mode.DISABLED);
    assertTrue(first.content.isEmpty());
  }

  /** Returns a file beside this class. */
  private static String resource(String name) throws IOException {
    try (InputStream file = MasqueradeGuardTest.class.getResourceAsStream(name)) {
      return new String(file.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  @Test
  void shouldWriteATransactionOfNftables() throws IOException {
    assertEquals(resource("masquerade.nft"), NftablesRules.text(RULES));
    assertTrue(NftablesRules.text(LAST).contains("priority 110;"));
  }

  @Test
  void shouldWriteNothingOfAFamilyThatTheNodeLacks() {
    final String text = NftablesRules.text(new MasqueradeRules(List.of(IPV6), true, PORTS));
    assertTrue(text.contains("ip6 saddr fd00:5::/96 masquerade\n"), text);
    assertFalse(text.contains("ip saddr") || text.contains("ipv4") || text.contains("${"), text);
  }

  @Test
  void shouldTakeTheLargerPartBesideThePortsOfSockets() {
    assertEquals(
        new MasqueradePorts(1024, 32_767, 7_936), MasqueradePorts.beside(32_768, 28_232, 25));
    assertEquals(
        new MasqueradePorts(30_000, 65_535, 3_553), MasqueradePorts.beside(2_000, 28_000, 10));
    assertEquals(new MasqueradePorts(1024, 65_535, 64_512), MasqueradePorts.beside(0, 0, 100));
  }

  @Test
  void shouldWriteRulesOfIptables() throws IOException {
    final String first = resource("masquerade.iptables");
    assertEquals(first, IptablesRules.text(IPV4, RULES, 0, 0));
    final String hook = "POSTROUTING -j AGENT-MASQUERADE\n";
    final String mangle = "-D " + hook + "-A " + hook + "COMMIT\n*nat";
    final String nat = ("-D " + hook).repeat(2) + "-A " + hook + "COMMIT\n";
    assertEquals(
        first
            .replace("-I " + hook + "COMMIT\n*nat", mangle)
            .replace("-I " + hook + "COMMIT\n", nat),
        IptablesRules.text(IPV4, LAST, 1, 2));
    final String ipv6 = IptablesRules.text(IPV6, RULES, 0, 0);
    assertTrue(ipv6.contains("-p ipv6-icmp -g AGENT-MASQUERADE-SHARE\n"), ipv6);
    assertTrue(
        ipv6.contains(
            "-d ::a/::f -m connlimit --connlimit-above 7936 --connlimit-mask 128 --connlimit-saddr"
                + " -j DROP\n"),
        ipv6);
  }

  @Test
  void shouldSayWhatAToolAnswers() {
    final NftablesRules nft =
        new NftablesRules(
            (command, input) -> {
              assertEquals(List.of("nft", "-f", "-"), command);
              return new NodeCommand.Result(1, "\n  Error: not supported  \nmasquerade\n");
            });
    assertEquals(
        "nftables (nft; CONFIG_NF_TABLES_INET, CONFIG_NFT_MASQ, CONFIG_NFT_CONNLIMIT,"
            + " CONFIG_NFT_FIB_INET, CONFIG_NF_CONNTRACK_ZONES): Error: not supported",
        assertThrows(OperationException.class, () -> nft.install(RULES)).getMessage());
    final NftablesRules silent = new NftablesRules((c, input) -> new NodeCommand.Result(3, ""));
    assertTrue(
        assertThrows(OperationException.class, () -> silent.install(RULES))
            .getMessage()
            .endsWith(": exit code 3"));
  }
}
