package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.Faults;
import agent.conductor.ModuleHealth;
import agent.endpoint.state.EndpointRecord;
import agent.policy.spec.NamedPort;
import agent.types.OperationException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is reported of files of endpoints that cannot be read or written. */
class EndpointFilesTest {
  @TempDir private Path path;
  private final Faults faults = new Faults("fine");
  private boolean isDiskFull;
  private EndpointFiles files;

  @BeforeEach
  void open() {
    final FolderFiles folder =
        new FolderFiles(path) {
          @Override
          void sync(Path synced, FileChannel channel) throws IOException {
            if (isDiskFull) {
              throw new IOException("No space left on device");
            }
            super.sync(synced, channel);
          }
        };
    files =
        new EndpointFiles(
            new StateFolder<>(folder, "endpoint", new EndpointCodec(), faults), faults);
  }

  /** The next check writes, since nothing else shows that the disk has room again. */
  @Test
  void shouldWriteForACheckOnlyWhereTheLastWriteFailed() {
    files.checkWritable(EndpointRecords.endpoint(7));
    assertFalse(Files.exists(path.resolve("7.json")), "nothing has failed");
    isDiskFull = true;
    assertThrows(OperationException.class, () -> files.save(EndpointRecords.endpoint(7)));
    assertThrows(OperationException.class, () -> files.checkWritable(EndpointRecords.endpoint(7)));
    assertEquals(List.of(), files.load());
    isDiskFull = false;
    files.checkWritable(EndpointRecords.endpoint(7));
    assertEquals(List.of(EndpointRecords.endpoint(7)), files.load());
    assertEquals(ModuleHealth.Level.OK, faults.read().level());
  }

  @Test
  void shouldKeepNamedPortsAndReadFilesWithoutThem() throws IOException {
    final EndpointRecord named =
        EndpointRecords.endpoint(7)
            .withNamedPorts(
                List.of(new NamedPort("dns", 53, "UDP"), new NamedPort("http", 80, "TCP")));
    files.save(named);
    files.save(EndpointRecords.endpoint(8));
    assertEquals(List.of(named, EndpointRecords.endpoint(8)), files.load());
    final Path file = path.resolve("7.json");
    assertTrue(
        Files.readString(file).contains(",\"namedPorts\":[{\"name\":\"dns\""),
        Files.readString(file));
    assertFalse(
        Files.readString(path.resolve("8.json")).contains("namedPorts"),
        "releases before read an endpoint without named ports");
  }

  @Test
  void shouldRefuseWhatIsNoNamedPort() throws Exception {
    for (final NamedPort port :
        List.of(
            new NamedPort("a_b", 80, "TCP"),
            new NamedPort("HTTP", 80, "TCP"),
            new NamedPort("http", 0, "TCP"),
            new NamedPort("http", 65536, "TCP"),
            new NamedPort("http", 80, "ICMP"))) {
      files.save(EndpointRecords.endpoint(7).withNamedPorts(List.of(port)));
      assertEquals(List.of(), files.load());
      assertTrue(
          files.unreadable().get(7).contains("$.namedPorts[0]"), files.unreadable().toString());
    }
  }

  @Test
  void shouldForgetWithEachLoadWhatCanBeReadAgain() throws IOException {
    files.save(EndpointRecords.endpoint(7));
    final byte[] whole = Files.readAllBytes(path.resolve("7.json"));
    Files.writeString(path.resolve("7.json"), "damaged");
    assertEquals(List.of(), files.load());
    assertEquals(Set.of(7), files.unreadable().keySet());
    Files.write(path.resolve("7.json"), whole);
    assertEquals(List.of(EndpointRecords.endpoint(7)), files.load());
    assertEquals(Map.of(), files.unreadable());
  }

  @Test
  void shouldHaveAFaultForEachFileThatCannotBeRead() throws IOException {
    Files.writeString(path.resolve("7.json"), "damaged");
    Files.writeString(path.resolve("8.json"), "damaged");
    files.load();
    for (final String file : List.of("/7.json ", "/8.json ")) {
      assertTrue(faults.read().message().contains(path + file), () -> faults.read().message());
    }
    files.remove(7);
    assertEquals(ModuleHealth.Level.STOPPED, faults.read().level());
    assertTrue(
        faults.read().message().startsWith("endpoint 8: the record in " + path + "/8.json "),
        () -> faults.read().message());
  }
}
