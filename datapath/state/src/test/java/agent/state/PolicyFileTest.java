package agent.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.Faults;
import agent.conductor.ModuleHealth;
import agent.policy.repository.PolicyState;
import agent.types.Refusal;
import agent.types.UnreadableStateException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.agrona.concurrent.AgentRunner;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The rules and their copy: which of them counts, and when neither does. */
class PolicyFileTest {
  private static final PolicyState SEVEN = new PolicyState(7, List.of(), List.of());
  private static final PolicyState EIGHT = new PolicyState(8, List.of(), List.of());

  @TempDir private Path directory;
  private Path rules;
  private Path copy;
  private AgentState state;

  @BeforeEach
  void open() {
    rules = directory.resolve("policy/rules.json");
    copy = directory.resolve("policy/rules-copy.json");
    state = AgentState.open(directory);
  }

  @AfterEach
  void close() {
    state.close();
  }

  private Optional<PolicyState> loadedAgain() {
    state.close();
    state = AgentState.open(directory);
    return state.policyStore().load(any -> {});
  }

  private String unreadable() {
    final String message =
        assertThrows(UnreadableStateException.class, this::loadedAgain).getMessage();
    assertTrue(message.contains(rules + " cannot be read ("), message);
    assertEquals(ModuleHealth.Level.STOPPED, state.faults().read().level());
    return message;
  }

  private static void damage(Path file) throws IOException {
    final byte[] content = Files.readAllBytes(file);
    content[content.length - 3] ^= 1;
    Files.write(file, content);
  }

  private static void write(Path file, String document) throws IOException {
    try (FileChannel channel =
        FileChannel.open(
            file,
            StandardOpenOption.CREATE,
            StandardOpenOption.WRITE,
            StandardOpenOption.TRUNCATE_EXISTING)) {
      channel.write(StateFile.encode("policy", List.of(StandardCharsets.UTF_8.encode(document))));
    }
  }

  private List<String> files() throws IOException {
    try (Stream<Path> files = Files.list(rules.getParent())) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  @Test
  void shouldLoseNoRuleWithEitherOfTheTwoFiles() throws Exception {
    for (final Path damaged : List.of(rules, copy)) {
      state.policyStore().save(SEVEN);
      state.retry();
      final byte[] content = Files.readAllBytes(damaged);
      damage(damaged);
      assertEquals(Optional.of(SEVEN), loadedAgain());
      assertArrayEquals(content, Files.readAllBytes(damaged), "whole again");
      assertTrue(Files.exists(Path.of(damaged + ".corrupt-1")));
      assertEquals(Optional.of(SEVEN), loadedAgain());
      Files.delete(damaged);
      assertEquals(Optional.of(SEVEN), loadedAgain());
      assertArrayEquals(content, Files.readAllBytes(damaged), "there again");
    }
    assertEquals(ModuleHealth.Level.OK, state.faults().read().level());
  }

  @Test
  void shouldUseNoCopyThatIsOlderThanTheRulesShow() throws Exception {
    state.policyStore().save(SEVEN);
    final byte[] seven = Files.readAllBytes(copy);
    state.policyStore().save(EIGHT);
    state.retry();
    Files.write(copy, seven);
    damage(rules);
    final String message = unreadable();
    assertTrue(message.contains("the copy is older, revision 7 and not 8"), message);
    state.policyStore().save(new PolicyState(9, List.of(), List.of()));
    assertArrayEquals(
        seven, Files.readAllBytes(rules.resolveSibling("rules-copy.json.corrupt-1")), "kept");
  }

  /** The copy of the change before is not there any more when the next one is committed. */
  @Test
  void shouldHaveNoCopyOfAnEarlierChangeWhereTheCopyCannotBeWritten() throws Exception {
    state.policyStore().save(SEVEN);
    Files.createDirectories(directory.resolve("policy/rules-copy.json.new/in it"));
    state.policyStore().save(EIGHT);
    state.retry();
    assertFalse(Files.exists(copy));
    assertEquals(ModuleHealth.Level.STOPPED, state.faults().read().level());
    assertEquals(EIGHT, state.policyStore().load(any -> {}).orElseThrow());
    Files.delete(directory.resolve("policy/rules-copy.json.new/in it"));
    Files.delete(directory.resolve("policy/rules-copy.json.new"));
    state.retry();
    assertArrayEquals(Files.readAllBytes(rules), Files.readAllBytes(copy));
    assertEquals(ModuleHealth.Level.OK, state.faults().read().level());
  }

  /** Changes in quick succession are synced once each; their copy follows when it is quiet. */
  @Test
  void shouldOweTheCopyWhileOneChangeFollowsAnother() throws Exception {
    final long[] nowNs = {5_000_000_000L};
    final Faults faults = new Faults("fine");
    final PolicyFile file =
        new PolicyFile(
            new StateFolder<>(
                new FolderFiles(rules.getParent()), "policy", new PolicyCodec(), faults),
            faults,
            () -> nowNs[0]);
    file.save(SEVEN);
    assertArrayEquals(Files.readAllBytes(rules), Files.readAllBytes(copy));
    nowNs[0] += 99_000_000;
    file.save(EIGHT);
    assertFalse(Files.exists(copy));
    assertEquals(Optional.of(EIGHT), file.load(any -> {}));
    Files.delete(copy);
    file.save(SEVEN);
    assertFalse(Files.exists(copy), "the copy of the change before");
    file.retry();
    assertArrayEquals(Files.readAllBytes(rules), Files.readAllBytes(copy));
    nowNs[0] += 100_000_000;
    file.save(EIGHT);
    assertArrayEquals(Files.readAllBytes(rules), Files.readAllBytes(copy));
    assertEquals(Optional.of(EIGHT), loadedAgain());
  }

  @Test
  void shouldWriteTheCopyThatIsOwedBeforeItEnds() throws Exception {
    state.policyStore().save(SEVEN);
    state.policyStore().save(EIGHT);
    state.close();
    assertArrayEquals(Files.readAllBytes(rules), Files.readAllBytes(copy));
    state = AgentState.open(directory);
  }

  /** The next start must not end for want of memory: what has no room cannot be read. */
  @Test
  void shouldNotReadMoreThanTheHeapHasRoomFor() throws Exception {
    state.policyStore().save(SEVEN);
    final byte[] file = Files.readAllBytes(rules);
    assertEquals(
        SEVEN, DocumentReader.read(StateFile.decode("policy", file), new PolicyCodec()::read, 4));
    final DamagedStateException refused =
        assertThrows(
            DamagedStateException.class,
            () ->
                DocumentReader.read(StateFile.decode("policy", file), new PolicyCodec()::read, 3));
    assertTrue(
        refused.getMessage().contains("more than 3 values have no room in the heap"),
        refused.getMessage());
  }

  @Test
  void shouldUseTheCopyWhereTheRulesAreWholeButNotValidAndKeepBoth() throws Exception {
    state.policyStore().save(SEVEN);
    for (final String document :
        List.of("{}", "{\"revision\":7,\"rules\":[{}],\"cidrIdentities\":[]}", "[]")) {
      write(rules, document);
      assertEquals(Optional.of(SEVEN), loadedAgain(), document);
      assertArrayEquals(Files.readAllBytes(rules), Files.readAllBytes(copy));
    }
    assertEquals(
        List.of(
            "rules-copy.json",
            "rules.json",
            "rules.json.corrupt-1",
            "rules.json.corrupt-2",
            "rules.json.corrupt-3"),
        files());
  }

  @Test
  void shouldSetNoFileAsideWhereTheContentOfBothIsRefused() throws Exception {
    state.policyStore().save(SEVEN);
    final UnreadableStateException failure =
        assertThrows(
            UnreadableStateException.class,
            () ->
                state
                    .policyStore()
                    .load(
                        any -> {
                          throw Refusal.invalid("rules[0]", "is no rule");
                        }));
    assertTrue(failure.getMessage().contains("(rules[0]: is no rule; "), failure.getMessage());
    assertEquals(List.of("rules-copy.json", "rules.json"), files());
  }

  @Test
  void shouldBeUnreadableWithOneFileOfANewerFormat() throws Exception {
    for (final Path newer : List.of(rules, copy)) {
      state.policyStore().save(SEVEN);
      Files.writeString(newer, "{\"format\":2,\"kind\":\"policy\"}\n{}\n");
      assertTrue(unreadable().contains("format 2 of a newer release"));
      unreadable();
      Files.delete(newer);
      loadedAgain();
    }
  }

  @Test
  void shouldBeUnreadableInEveryStartUntilRulesAreSavedAndKeepTheFiles() throws Exception {
    state.policyStore().save(SEVEN);
    write(rules, "{}");
    write(copy, "{\"revision\":7,\"rules\":[],\"cidrIdentities\":[],\"more\":1}");
    final byte[] main = Files.readAllBytes(rules);
    final byte[] second = Files.readAllBytes(copy);
    unreadable();
    assertTrue(unreadable().contains("; the copy: $.more: is unknown"));
    assertArrayEquals(main, Files.readAllBytes(rules));
    state.policyStore().save(EIGHT);
    assertEquals(ModuleHealth.Level.OK, state.faults().read().level());
    assertEquals(Optional.of(EIGHT), loadedAgain());
    assertArrayEquals(main, Files.readAllBytes(rules.resolveSibling("rules.json.corrupt-1")));
    assertArrayEquals(
        second, Files.readAllBytes(rules.resolveSibling("rules-copy.json.corrupt-1")));
  }

  @Test
  void shouldBeUnreadableWithSomethingElseInBothPlaces() throws Exception {
    Files.createDirectories(rules);
    Files.createSymbolicLink(copy, directory.resolve("agent.lock"));
    assertTrue(unreadable().contains("it is a directory, not a file; the copy: it is a symbolic"));
    state.policyStore().save(EIGHT);
    assertEquals(Optional.of(EIGHT), loadedAgain());
  }

  /** A release that knows more rules may have written them. */
  @Test
  void shouldKeepRulesThatTheAgentDoesNotTake() throws Exception {
    state.policyStore().save(SEVEN);
    state.retry();
    final byte[] refused = Files.readAllBytes(rules);
    state.close();
    state = AgentState.open(directory);
    assertThrows(
        UnreadableStateException.class,
        () ->
            state
                .policyStore()
                .load(
                    any -> {
                      throw Refusal.invalid("endpointSelector", "is not known");
                    }));
    state.policyStore().save(EIGHT);
    assertArrayEquals(refused, Files.readAllBytes(Path.of(rules + ".corrupt-1")));
  }

  /** The thread of the disk, which the copy waits for, is at the retry of another second. */
  @Test
  void shouldWriteTheCopyWhileTheThreadOfTheDiskTriesAgain() throws Exception {
    state.policyStore().save(SEVEN);
    Files.delete(copy);
    state.close();
    state = AgentState.open(directory);
    final StoreConductor store = state.store();
    try (AgentRunner disk = new AgentRunner(store.idleStrategy(), failure -> {}, null, store)) {
      AgentRunner.startOnThread(disk);
      store.run(() -> {}).get(10, TimeUnit.SECONDS);
      state
          .policyStore()
          .load(any -> store.run(state::retry).orTimeout(10, TimeUnit.SECONDS).join());
      assertTrue(Files.exists(copy));
    }
  }
}
