package agent.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.ModuleHealth;
import agent.datapath.spec.PrefilterList;
import agent.endpoint.state.EndpointRecord;
import agent.ipam.Lease;
import agent.node.NodeStore.NodeRecord;
import agent.policy.repository.PolicyState;
import agent.policy.spec.RuleSpec;
import agent.policy.spec.SelectorSpec;
import agent.testkit.Commands;
import agent.testkit.KernelTest;
import agent.types.IoFailure;
import agent.types.IpAddress;
import agent.types.OperationException;
import agent.types.Prefix;
import agent.types.UnreadableStateException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** A state directory on a file system of 64 KiB that is full, read-only or broken. */
@KernelTest
class UnwritableStateKernelTest {
  private static final String NO_SPACE = "no space left on device";
  private static final PolicyState SEVEN = new PolicyState(7, List.of(), List.of());
  private static final PrefilterList LIST =
      new PrefilterList(3, List.of(Prefix.parse("192.0.2.0/24")));

  @TempDir private Path temporary;
  private Path directory;
  private AgentState state;

  @BeforeEach
  void mount() throws Exception {
    directory = Files.createDirectory(temporary.resolve("state"));
    Commands.run("mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", directory.toString());
    state = AgentState.open(directory);
    state.policyStore().save(SEVEN);
    state.leaseStore().save(List.of(lease("10.1.0.7")));
    state.nodeStore().save(new NodeRecord(Prefix.parse("10.1.0.0/16"), null));
    state.prefilterStore().store(LIST);
    state.endpointStore().save(record());
  }

  @AfterEach
  void unmount() {
    state.close();
    Commands.run("umount", "--lazy", directory.toString());
  }

  private static Lease lease(String address) {
    return new Lease(IpAddress.parse(address), "default", "x".repeat(900), 0, null, null);
  }

  /** An endpoint of the release files. */
  private static EndpointRecord record() throws Exception {
    return DocumentReader.read(
        StateFile.decode("endpoint", ReleaseFiles.of("0.1.0").read("endpoints/7.json")),
        new EndpointCodec()::read);
  }

  private static PolicyState rules(int count) {
    final RuleSpec rule =
        new RuleSpec(SelectorSpec.ALL, List.of(), null, null, null, null, "x".repeat(400));
    return new PolicyState(8, new ArrayList<>(Collections.nCopies(count, rule)), List.of());
  }

  /** Leaves no byte free. */
  private void fill() throws IOException {
    final Path filler = directory.resolve("filler");
    try (var out = Files.newOutputStream(filler)) {
      final byte[] page = new byte[4096];
      while (true) {
        out.write(page);
      }
    } catch (IOException full) {
      assertEquals(NO_SPACE, IoFailure.reason(full));
    }
  }

  private Map<Path, byte[]> content() throws IOException {
    final Map<Path, byte[]> content = new TreeMap<>();
    try (Stream<Path> files = Files.walk(directory)) {
      for (final Path file : files.filter(Files::isRegularFile).toList()) {
        if (!file.endsWith("filler")) {
          content.put(file, Files.readAllBytes(file));
        }
      }
    }
    return content;
  }

  private void assertUnchanged(Map<Path, byte[]> before) throws IOException {
    final Map<Path, byte[]> now = content();
    assertEquals(before.keySet(), now.keySet());
    before.forEach((file, bytes) -> assertArrayEquals(bytes, now.get(file), file.toString()));
  }

  private void assertRefused(String name, String cause, Executable write) {
    assertEquals(
        "state file " + directory.resolve(name) + " cannot be " + cause,
        assertThrows(OperationException.class, write).getMessage());
    final ModuleHealth.Level level = state.faults().read().level();
    assertEquals(ModuleHealth.Level.STOPPED, level);
    state.retry();
    assertEquals(ModuleHealth.Level.STOPPED, state.faults().read().level(), "the cause stands");
  }

  private void assertEveryWriteRefused(String cause) throws Exception {
    final Map<Path, byte[]> before = content();
    final EndpointRecord other = record().withId(8);
    assertRefused("policy/rules.json", cause, () -> state.policyStore().save(rules(1)));
    assertRefused("ipam/leases.json", cause, () -> state.leaseStore().save(List.of(lease("::1"))));
    assertRefused(
        "node/node.json", cause, () -> state.nodeStore().save(new NodeRecord(null, null)));
    assertRefused(
        "prefilter/list.json", cause, () -> state.prefilterStore().store(PrefilterList.EMPTY));
    assertRefused("endpoints/8.json", cause, () -> state.endpointStore().save(other));
    assertUnchanged(before);
  }

  private void assertHealthyAgain() {
    state.retry();
    assertEquals(ModuleHealth.Level.OK, state.faults().read().level());
  }

  @Test
  void shouldRefuseEveryWriteOnAFullDiskAndBeHealthyWhenThereIsRoomAgain() throws Exception {
    fill();
    assertEveryWriteRefused("written: " + NO_SPACE);
    Files.delete(directory.resolve("filler"));
    assertHealthyAgain();
    assertEquals(Optional.of(SEVEN), state.policyStore().load(any -> {}));
  }

  /** A small file can be written where the large one that failed cannot. */
  @Test
  void shouldNotBeHealthyAsLongAsTheFileThatFailedDoesNotFit() throws Exception {
    final PolicyState large = rules(200);
    assertRefused(
        "policy/rules.json", "written: " + NO_SPACE, () -> state.policyStore().save(large));
    state.retry();
    assertEquals(ModuleHealth.Level.STOPPED, state.faults().read().level());
    state.policyStore().save(rules(1));
    assertEquals(ModuleHealth.Level.OK, state.faults().read().level());
  }

  /** There is room for the rules and not for their copy: the change holds, and the next start. */
  @Test
  void shouldAcceptRulesWithoutACopyAndWriteItWhenThereIsRoom() throws Exception {
    Files.write(directory.resolve("filler"), new byte[16 << 10]);
    final PolicyState change = rules(30);
    state.policyStore().save(change);
    state.retry();
    assertEquals(ModuleHealth.Level.STOPPED, state.faults().read().level());
    final Path copy = directory.resolve("policy/rules-copy.json");
    assertTrue(Files.notExists(copy), "no copy of the rules before");
    state.retry();
    assertEquals(ModuleHealth.Level.STOPPED, state.faults().read().level());
    state.close();
    state = AgentState.open(directory);
    assertEquals(Optional.of(change), state.policyStore().load(any -> {}));
    assertEquals(ModuleHealth.Level.STOPPED, state.faults().read().level());
    Files.delete(directory.resolve("filler"));
    state.retry();
    assertEquals(ModuleHealth.Level.OK, state.faults().read().level());
    assertArrayEquals(
        Files.readAllBytes(directory.resolve("policy/rules.json")), Files.readAllBytes(copy));
  }

  @Test
  void shouldRefuseEveryChangeOfAReadOnlyFileSystem() throws Exception {
    Files.writeString(directory.resolve("endpoints/3.json.new"), "half");
    Commands.run("mount", "--bind", directory.toString(), directory.toString());
    Commands.run("mount", "-o", "remount,bind,ro", directory.toString());
    assertEveryWriteRefused("written: read-only file system");
    assertRefused(
        "endpoints/7.json",
        "removed: read-only file system",
        () -> state.endpointStore().remove(7));
    assertEquals(List.of(record()), state.endpointStore().load());
    Commands.run("umount", directory.toString());
    assertHealthyAgain();
  }

  /** The memory of a process is a regular file whose first byte cannot be read: EIO. */
  @Test
  void shouldNotTakeAFileThatCannotBeReadForOneThatIsNotThere() throws Exception {
    for (final String name : List.of("prefilter/list.json", "node/node.json", "ipam/leases.json")) {
      final String file = directory.resolve(name).toString();
      Commands.run("mount", "--bind", "/proc/" + ProcessHandle.current().pid() + "/mem", file);
      try {
        final String message =
            assertThrows(
                    UnreadableStateException.class,
                    () -> {
                      state.prefilterStore().load();
                      state.nodeStore().load();
                      state.leaseStore().load();
                    })
                .getMessage();
        assertTrue(message.contains(file + " cannot be read (input/output error)"), message);
      } finally {
        Commands.run("umount", file);
      }
    }
    assertEquals(Optional.of(LIST), state.prefilterStore().load());
  }

  @Test
  void shouldStartOnAFullDiskWithoutLeftovers() throws Exception {
    Files.writeString(directory.resolve("endpoints/3.json.new"), "half");
    fill();
    state.close();
    state = AgentState.open(directory);
    assertTrue(Files.notExists(directory.resolve("endpoints/3.json.new")));
    assertEquals(List.of(record()), state.endpointStore().load());
  }
}
