package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ModuleHealth;
import agent.dns.NameLookup;
import agent.dns.NameLookup.Source;
import agent.policy.repository.PolicyState;
import agent.policy.spec.PeerRuleSpec;
import agent.policy.spec.PeerRuleSpec.FqdnSpec;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.types.IpAddress;
import agent.types.UnreadableStateException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NameFilesTest {
  private static final List<NameLookup> LOOKUPS =
      List.of(
          new NameLookup(
              "_srv.example.com.",
              List.of(IpAddress.parse("192.0.2.7"), IpAddress.parse("2001:db8::7")),
              0,
              Instant.parse("2026-11-20T10:00:00.123Z"),
              Instant.parse("2026-11-20T11:00:00Z"),
              Source.LOOKUP),
          new NameLookup(
              "www.example.com.",
              List.of(IpAddress.parse("192.0.2.8")),
              604800,
              Instant.parse("2026-11-20T10:00:00Z"),
              Instant.parse("2026-11-27T10:00:00Z"),
              Source.PRECACHE),
          new NameLookup(
              "www.example.org.",
              List.of(IpAddress.parse("192.0.2.9")),
              5,
              Instant.parse("2026-11-20T09:00:00Z"),
              Instant.parse("2026-11-20T09:00:05Z"),
              Source.CONNECTION));

  private static final String DOCUMENT =
      "{\"lookups\":[{\"name\":\"_srv.example.com.\",\"addresses\":[\"192.0.2.7\","
          + "\"2001:db8::7\"],\"ttlSec\":0,\"lookupTime\":\"2026-11-20T10:00:00.123Z\","
          + "\"expirationTime\":\"2026-11-20T11:00:00Z\",\"source\":\"lookup\"},"
          + "{\"name\":\"www.example.com.\",\"addresses\":[\"192.0.2.8\"],\"ttlSec\":604800,"
          + "\"lookupTime\":\"2026-11-20T10:00:00Z\","
          + "\"expirationTime\":\"2026-11-27T10:00:00Z\",\"source\":\"precache\"},"
          + "{\"name\":\"www.example.org.\",\"addresses\":[\"192.0.2.9\"],\"ttlSec\":5,"
          + "\"lookupTime\":\"2026-11-20T09:00:00Z\","
          + "\"expirationTime\":\"2026-11-20T09:00:05Z\",\"source\":\"connection\"}]}";

  @TempDir private Path directory;
  private AgentState state;

  @BeforeEach
  void open() {
    state = AgentState.open(directory);
  }

  @AfterEach
  void close() {
    state.close();
  }

  private void reopen() {
    state.close();
    state = AgentState.open(directory);
  }

  private Path file() {
    return directory.resolve("names/cache.json");
  }

  @Test
  void shouldKeepEveryPartOfALookup() throws IOException {
    assertEquals(List.of(), state.nameStore().load());
    state.nameStore().save(LOOKUPS);
    assertTrue(Files.readString(file()).strip().endsWith(DOCUMENT), Files.readString(file()));
    reopen();
    assertEquals(LOOKUPS, state.nameStore().load());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "www.example.com. | WWW.example.com. | $.lookups[1].name",
        "www.example.com. | www.example.com | $.lookups[1].name",
        "www.example.com. | w/w.example.com. | $.lookups[1].name",
        "[\"192.0.2.8\"] | [] | $.lookups[1]",
        "192.0.2.8 | 192.0.2.800 | $.lookups[1].addresses[0]",
        "604800 | -1 | $.lookups[1]",
        "precache | Precache | $.lookups[1].source",
        "2026-11-27T10 | 2026-13-27T10 | $.lookups[1].expirationTime"
      })
  void shouldTellOfNamesThatCannotBeReadUntilTheyAreReplaced(
      String text, String damaged, String named) throws IOException {
    state.nameStore().save(LOOKUPS);
    final String document = DOCUMENT.replace(text, damaged);
    try (FileChannel channel = FileChannel.open(file(), StandardOpenOption.WRITE)) {
      channel.truncate(0);
      channel.write(StateFile.encode("names", List.of(StandardCharsets.UTF_8.encode(document))));
    }
    reopen();
    final String why =
        assertThrows(UnreadableStateException.class, state.nameStore()::load).getMessage();
    assertTrue(why.contains(named) && why.contains("names/cache.json"), why);
    assertEquals(ModuleHealth.Level.STOPPED, state.faults().read().level());
    state.nameStore().save(List.of());
    assertEquals(ModuleHealth.Level.OK, state.faults().read().level());
    assertEquals(List.of(), state.nameStore().load());
    assertTrue(Files.exists(directory.resolve("names/cache.json.corrupt-1")), "kept for a person");
  }

  private static NameLookup lookup(int index, int endpointId) {
    return new NameLookup(
        "n" + index + ".example.com.",
        List.of(IpAddress.ofIpv4(0xc0000200 + index)),
        60,
        Instant.parse("2026-11-20T10:00:00Z"),
        Instant.parse("2026-11-20T11:00:00Z"),
        Source.LOOKUP,
        endpointId);
  }

  private Path added(int number) {
    return directory.resolve("names/added-" + number + ".json");
  }

  @Test
  void shouldKeepWhatIsAppendedUntilAllIsStoredAgain() throws IOException {
    state.nameStore().save(LOOKUPS);
    state.nameStore().append(List.of(lookup(1, 7)));
    state.nameStore().append(List.of(lookup(2, 7), lookup(3, 8)));
    final List<NameLookup> all = new ArrayList<>(LOOKUPS);
    all.addAll(List.of(lookup(1, 7), lookup(2, 7), lookup(3, 8)));
    assertEquals(all, state.nameStore().load());
    reopen();
    assertEquals(all, state.nameStore().load());
    state.nameStore().append(List.of(lookup(4, 9)));
    reopen();
    all.add(lookup(4, 9));
    assertEquals(all, state.nameStore().load());
    assertTrue(Files.exists(added(1)) && Files.exists(added(2)), "a file is never continued");
    state
        .nameStore()
        .compact(
            () -> {
              state.nameStore().append(List.of(lookup(5, 9)));
              return List.of(lookup(6, 9));
            });
    assertEquals(List.of(lookup(6, 9), lookup(5, 9)), state.nameStore().load());
    state.nameStore().save(List.of());
    assertEquals(List.of(), state.nameStore().load());
    try (var files = Files.list(directory.resolve("names"))) {
      assertEquals(List.of(file()), files.toList());
    }
  }

  @Test
  void shouldKeepThePartsBeforeOneThatACrashHasCut() throws IOException {
    state.nameStore().append(List.of(lookup(1, 7)));
    final long first = end();
    state.nameStore().append(List.of(lookup(2, 7)));
    final byte[] whole = Files.readAllBytes(added(1));
    final long second = end() - 1; // without its last byte the part is whole, too
    state.close();
    for (long cut = first; cut < second; cut++) {
      final byte[] zeros = whole.clone();
      Arrays.fill(zeros, (int) cut, zeros.length, (byte) 0);
      for (final byte[] file : List.of(zeros, Arrays.copyOf(whole, (int) cut))) {
        Files.write(added(1), file);
        state = AgentState.open(directory);
        assertEquals(List.of(lookup(1, 7)), state.nameStore().load(), "cut at " + cut);
        state.close();
      }
    }
    Files.write(added(1), whole);
    reopen();
    assertEquals(List.of(lookup(1, 7), lookup(2, 7)), state.nameStore().load());
  }

  /** Returns where the zeros begin. */
  private long end() throws IOException {
    final byte[] bytes = Files.readAllBytes(added(1));
    int end = 0;
    while (bytes[end] != 0) {
      end++;
    }
    return end;
  }

  @Test
  void shouldTellOfAPartThatIsDamagedInTheMiddle() throws IOException {
    state.nameStore().append(List.of(lookup(1, 7)));
    state.nameStore().append(List.of(lookup(2, 7)));
    final byte[] bytes = Files.readAllBytes(added(1));
    bytes[120] ^= 1;
    Files.write(added(1), bytes);
    reopen();
    final String why =
        assertThrows(UnreadableStateException.class, state.nameStore()::load).getMessage();
    assertTrue(why.contains("added-1.json"), why);
    state.nameStore().save(List.of());
    assertEquals(List.of(), state.nameStore().load());
    assertEquals(ModuleHealth.Level.OK, state.faults().read().level());
    assertTrue(Files.exists(directory.resolve("names/added-1.json.corrupt-1")), "for a person");
  }

  @Test
  void shouldForgetNamesWithTheRestOfTheState() {
    state.nameStore().save(LOOKUPS);
    state.discard();
    reopen();
    assertEquals(List.of(), state.nameStore().load());
  }

  @Test
  void shouldKeepTheNamesOfRules() {
    final PeerRuleSpec names =
        new PeerRuleSpec(
            null,
            null,
            null,
            null,
            null,
            null,
            null,
            null,
            List.of(new FqdnSpec("www.example.com", null), new FqdnSpec(null, "*.example.com")),
            null);
    final PolicyState rules =
        new PolicyState(
            7,
            List.of(
                new RuleSpec(
                    SelectorSpec.ALL,
                    null,
                    List.of(names, PeerRuleSpec.ALL),
                    null,
                    null,
                    null,
                    null)),
            List.of());
    state.policyStore().save(rules);
    reopen();
    assertEquals(rules, state.policyStore().load(any -> {}).orElseThrow());
  }
}
