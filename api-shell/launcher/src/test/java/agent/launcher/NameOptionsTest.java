package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.dns.NameLookup;
import agent.dns.Names;
import agent.launcher.options.OptionException;
import agent.launcher.options.OptionValues;
import agent.types.IpAddress;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NameOptionsTest {
  @TempDir private Path folder;

  private static NameOptions options(String... arguments) {
    return new NameOptions(OptionValues.read(List.of(arguments), Map.of()));
  }

  private List<NameLookup> preloaded(String text, String... more) throws IOException {
    final Path file = Files.writeString(folder.resolve("names.json"), text);
    final String[] all = new String[more.length + 2];
    all[0] = "--tofqdns-pre-cache";
    all[1] = file.toString();
    System.arraycopy(more, 0, all, 2, more.length);
    try (Names names = Names.open(options(all).context().conclude())) {
      return names.list();
    }
  }

  @Test
  void shouldKeepNamesForAShorterTimeWhereTheAgentLooksThemUp() {
    assertEquals(604_800, options().leastTtlSec());
    assertEquals(3_600, options("--tofqdns-enable-poller").leastTtlSec());
    assertEquals(7, options("--tofqdns-enable-poller", "--tofqdns-min-ttl", "7").leastTtlSec());
    assertEquals(7, options("--tofqdns-min-ttl", "7").leastTtlSec());
  }

  @Test
  void shouldTellLookupsUnlessThatIsOff() {
    assertTrue(options("--tofqdns-enable-poller").tellsLookups());
    assertFalse(
        options("--tofqdns-enable-poller", "--tofqdns-enable-poller-events=false").tellsLookups());
  }

  @Test
  void shouldPreloadTheNamesOfAFile() throws IOException {
    final String file =
        """
        [{"fqdn": "WWW.example.com", "ips": ["192.0.2.7", "2001:db8::7"], "ttl": 60,
          "source": "lookup", "lookup-time": "2026-11-20T10:00:00.000Z"},
         {"fqdn": "b.example.com.", "ips": ["192.0.2.8"]}]
        """;
    final List<NameLookup> names = preloaded(file, "--tofqdns-min-ttl", "30");
    assertEquals("b.example.com.", names.getFirst().name());
    final NameLookup www = names.getLast();
    assertEquals("www.example.com.", www.name());
    assertEquals(
        List.of(IpAddress.parse("192.0.2.7"), IpAddress.parse("2001:db8::7")), www.addresses());
    assertEquals(60, www.ttlSec());
    assertEquals(www.lookupTime().plusSeconds(60), www.expirationTime());
    assertEquals(names.getFirst().lookupTime().plusSeconds(30), names.getFirst().expirationTime());
  }

  @Test
  void shouldKeepSoManyAddressesOfAName() throws IOException {
    final String file = "[{\"fqdn\": \"a.b\", \"ips\": [\"192.0.2.1\", \"192.0.2.2\"]}]";
    assertEquals(2, preloaded(file).getFirst().addresses().size());
    assertEquals(
        1,
        preloaded(file, "--tofqdns-endpoint-max-ip-per-hostname", "1")
            .getFirst()
            .addresses()
            .size());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{} | not a JSON array of names",
        "null | not a JSON array",
        "[null] | not a JSON array of names",
        "[{\"fqdn\": \"a.b\"}] | [0]: fqdn and ips are required",
        "[{\"ips\": [\"192.0.2.1\"]}] | [0]: fqdn and ips are required",
        "[{\"fqdn\": \"a.b\", \"ips\": []}] | [0]: fqdn and ips are required",
        "[{\"fqdn\": \"a b\", \"ips\": [\"192.0.2.1\"]}] | [0].fqdn: 'a b' is not a DNS name",
        "[{\"fqdn\": \"a.b\", \"ips\": [\"x\"]}] | [0].ips[0]: 'x' is not an IP address",
        "[{\"fqdn\": \"a.b\", \"ips\": [null]}] | not a JSON array of names",
        "[{\"fqdn\": \"a.b\", \"ips\": [\"192.0.2.1\"], \"ttl\": -1}] | [0].ttl: '-1' is negative",
        "[{\"fqdn\": \"a.b\", \"ip\": []}] | not a JSON array of names"
      })
  void shouldSayWhatIsWrongWithTheFile(String text, String message) {
    final String refused = assertThrows(OptionException.class, () -> preloaded(text)).getMessage();
    assertTrue(refused.startsWith("--tofqdns-pre-cache: " + folder), refused);
    assertTrue(refused.contains(message), refused);
  }

  @Test
  void shouldRefuseAFileThatIsNotThere() {
    final String refused =
        assertThrows(
                OptionException.class,
                () -> options("--tofqdns-pre-cache", folder.resolve("none").toString()).context())
            .getMessage();
    assertTrue(refused.contains("/none: cannot be read: "), refused);
  }
}
