package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.node.NodeStore.NodeRecord;
import agent.types.AlreadyInUseException;
import agent.types.Leftover;
import agent.types.Prefix;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a cleanup finds in a state directory. */
class StateLeftoversTest {
  @TempDir private Path parent;

  private void open() {
    AgentState.open(parent.resolve("state")).close();
  }

  private List<Leftover> found() {
    try (StateLeftovers leftovers = StateLeftovers.open(parent.resolve("state"))) {
      return leftovers.find();
    }
  }

  @Test
  void shouldFindEveryFolderThatAnAgentCreates() throws IOException {
    open();
    Files.writeString(parent.resolve("state/endpoints/7.json"), "{}");
    Files.writeString(parent.resolve("state/policy/rules.json.unreadable-1"), "{}");
    for (final Leftover leftover : found()) {
      leftover.removal().remove();
    }
    assertFalse(Files.exists(parent.resolve("state")));
  }

  @Test
  void shouldKeepFilesOfOthersAndTheirFolders() throws IOException {
    open();
    final Path other = Files.writeString(parent.resolve("state/ipam/notes.txt"), "mine");
    int kept = 0;
    for (final Leftover leftover : found()) {
      try {
        leftover.removal().remove();
      } catch (DirectoryNotEmptyException folder) {
        kept++;
      }
    }
    assertEquals(2, kept, "ipam and the state directory");
    assertTrue(Files.exists(other));
  }

  @Test
  void shouldFindNothingWhereNoAgentWas() {
    assertEquals(List.of(), found());
    assertFalse(Files.exists(parent.resolve("state")), "nothing is created");
  }

  @Test
  void shouldReadTheRangesOfTheNodeWhereTheyCanBeRead() throws IOException {
    final Path directory = parent.resolve("state");
    final NodeRecord node = new NodeRecord(Prefix.parse("10.1.0.0/16"), null);
    try (AgentState state = AgentState.open(directory)) {
      state.nodeStore().save(node);
    }
    assertEquals(Optional.of(node), storedNode());
    Files.writeString(directory.resolve("node/node.json"), "damaged");
    assertEquals(Optional.empty(), storedNode());
    Files.delete(directory.resolve("node/node.json"));
    assertEquals(Optional.empty(), storedNode());
  }

  private Optional<NodeRecord> storedNode() {
    try (StateLeftovers leftovers = StateLeftovers.open(parent.resolve("state"))) {
      return leftovers.node();
    }
  }

  @Test
  void shouldHoldTheDirectoryUntilItIsClosed() {
    open();
    try (StateLeftovers _ = StateLeftovers.open(parent.resolve("state"))) {
      assertThrows(AlreadyInUseException.class, this::open);
    }
    open();
  }
}
