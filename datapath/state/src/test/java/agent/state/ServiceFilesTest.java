package agent.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.conductor.Faults;
import agent.conductor.ModuleHealth;
import agent.service.Backend;
import agent.service.ForwardingMode;
import agent.service.Frontend;
import agent.service.Service;
import agent.service.ServiceProtocol;
import agent.service.ServiceStore;
import agent.service.ServiceType;
import agent.types.IpAddress;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ServiceFilesTest {
  private static final Service SERVICE =
      new Service(
          7,
          new Frontend(IpAddress.parse("10.96.0.1"), 53, ServiceProtocol.ANY),
          List.of(
              new Backend(IpAddress.parse("10.1.0.7"), 5353, Backend.State.TERMINATING, 0, "n1"),
              new Backend(IpAddress.parse("10.1.0.8"), 65_535, Backend.State.ACTIVE, 9, null)),
          true,
          600,
          "names",
          "system");

  private static final String DOCUMENT =
      "{\"id\":7,\"frontend\":{\"address\":\"10.96.0.1\",\"port\":53,\"protocol\":\"ANY\"},"
          + "\"backends\":[{\"address\":\"10.1.0.7\",\"port\":5353,\"state\":\"terminating\","
          + "\"weight\":0,\"nodeName\":\"n1\"},{\"address\":\"10.1.0.8\",\"port\":65535,"
          + "\"state\":\"active\",\"weight\":9,\"nodeName\":null}],\"local\":true,"
          + "\"affinitySeconds\":600,\"name\":\"names\",\"namespace\":\"system\"}";

  @TempDir private Path directory;
  private final Faults faults = new Faults("fine");
  private AgentState state;

  @BeforeEach
  void open() {
    state = AgentState.open(directory);
  }

  @AfterEach
  void close() {
    state.close();
  }

  private ServiceStore.Stored reloaded() {
    state.close();
    state = AgentState.open(directory);
    return state.serviceStore().load();
  }

  private Path file() {
    return directory.resolve("services/7.json");
  }

  @Test
  void shouldKeepEveryPartOfAService() {
    final Service bare =
        new Service(
            8,
            new Frontend(IpAddress.parse("fd96::1"), 80, ServiceProtocol.TCP),
            List.of(),
            false,
            0,
            null,
            null);
    state.serviceStore().save(SERVICE).join();
    state.serviceStore().save(bare).join();
    assertEquals(List.of(SERVICE, bare), List.copyOf(reloaded().services()));
    state.serviceStore().remove(8).join();
    assertEquals(List.of(SERVICE), List.copyOf(reloaded().services()));
  }

  @Test
  void shouldKeepWhereAServiceIsOffered() throws Exception {
    for (final ServiceType type : ServiceType.values()) {
      for (final boolean isLocal : new boolean[] {true, false}) {
        final Service offered = SERVICE.offered(type, isLocal && type.isOutside(), null);
        state.serviceStore().save(offered).join();
        assertEquals(List.of(offered), List.copyOf(reloaded().services()));
      }
    }
    state.serviceStore().save(SERVICE.offered(ServiceType.HOST_PORT, true, null)).join();
    final String end = ",\"outside\":{\"type\":\"HostPort\",\"local\":true}}";
    assertTrue(Files.readString(file()).strip().endsWith(end), Files.readString(file()));
    for (final String wrong : List.of("\"Port\"", "null", "1")) {
      write(DOCUMENT.substring(0, DOCUMENT.length() - 1) + end.replace("\"HostPort\"", wrong));
      final String reason = reloaded().unreadable().get(7);
      assertTrue(reason.contains("$.outside.type"), reason);
      state.serviceStore().remove(7).join();
      state.serviceStore().save(SERVICE).join();
    }
    write(DOCUMENT.substring(0, DOCUMENT.length() - 1) + ",\"more\":1}");
    assertTrue(reloaded().unreadable().get(7).contains("$.more"));
  }

  /** A release before 0.9 keeps a service of a mode as the kernel has it, without reading it. */
  @Test
  void shouldKeepHowPacketsReachOtherHosts() throws Exception {
    for (final ForwardingMode mode : ForwardingMode.values()) {
      final Service forwarded = SERVICE.offered(ServiceType.LOAD_BALANCER, false, mode);
      state.serviceStore().save(forwarded).join();
      assertEquals(List.of(forwarded), List.copyOf(reloaded().services()));
    }
    final String end =
        ",\"outside\":{\"type\":\"LoadBalancer\",\"local\":false,\"forwarding\":\"dsr\"}}";
    assertTrue(Files.readString(file()).strip().endsWith(end), Files.readString(file()));
    write(DOCUMENT.substring(0, DOCUMENT.length() - 1) + end.replace("dsr", "direct"));
    final String reason = reloaded().unreadable().get(7);
    assertTrue(reason.contains("$.outside.forwarding"), reason);
  }

  @Test
  void shouldWriteTheStoredFormat() throws IOException {
    state.serviceStore().save(SERVICE).join();
    assertTrue(Files.readString(file()).strip().endsWith(DOCUMENT), Files.readString(file()));
  }

  private void write(String document) throws IOException {
    try (FileChannel file = FileChannel.open(file(), StandardOpenOption.WRITE)) {
      file.truncate(0);
      file.write(StateFile.encode("service", List.of(StandardCharsets.UTF_8.encode(document))));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"port\":53 | \"port\":0 | $.frontend.port",
        "\"port\":65535 | \"port\":65536 | $.backends[1].port",
        "ANY | ICMP | $.frontend.protocol",
        "terminating | gone | $.backends[0].state",
        "\"weight\":9 | \"weight\":-1 | $.backends[1]",
        "\"id\":7 | \"id\":8 | it holds service 8"
      })
  void shouldLeaveAServiceWhoseRecordIsDamaged(String text, String damaged, String named)
      throws IOException {
    state.serviceStore().save(SERVICE).join();
    write(DOCUMENT.replace(text, damaged));
    final ServiceStore.Stored stored = reloaded();
    assertEquals(List.of(), List.copyOf(stored.services()));
    assertEquals(Set.of(7), stored.unreadable().keySet());
    final String reason = stored.unreadable().get(7);
    assertTrue(reason.contains(named), reason);
    assertSentence(file(), reason);
    assertEquals(ModuleHealth.Level.STOPPED, state.faults().read().level());
    state.serviceStore().remove(7).join();
    assertEquals(ModuleHealth.Level.OK, state.faults().read().level());
    assertEquals(Map.of(), reloaded().unreadable());
  }

  @Test
  void shouldForgetServicesWithTheRestOfTheState() throws IOException {
    state.serviceStore().save(SERVICE).join();
    Files.writeString(directory.resolve("services/web.json"), "x");
    assertEquals(1, state.serviceStore().load().services().size());
    state.discard();
    assertEquals(List.of(), List.copyOf(reloaded().services()));
  }

  private static void assertSentence(Path file, String reason) {
    assertTrue(
        reason.startsWith("the record in " + file + " cannot be read (")
            && reason.endsWith(
                "); the service stays as the kernel has it. Restore the file and start the agent"
                    + " again, or delete the service"),
        reason);
  }

  private ServiceBatches batches() {
    return StoredServices.batches(directory, faults);
  }

  /** The names of the folder and of the kind are those of all releases. */
  @Test
  void shouldReadServicesThatWereWrittenTogether() {
    state.close();
    batches().save(List.of(StoredServices.numbered(1), StoredServices.numbered(2)));
    state = AgentState.open(directory);
    final ServiceStore.Stored stored = state.serviceStore().load();
    assertEquals(
        Set.of(StoredServices.numbered(1), StoredServices.numbered(2)),
        Set.copyOf(stored.services()));
  }

  @Test
  void shouldRemoveTheServicesOfAMissingFileOneByOne() throws IOException {
    batches()
        .save(
            List.of(
                StoredServices.numbered(1),
                StoredServices.numbered(2),
                StoredServices.numbered(3)));
    Files.delete(directory.resolve("service-batches/1-2-3.json"));
    final ServiceBatches batches = batches();
    final Map<Integer, String> unreadable = batches.load(List.of()).unreadable();
    assertEquals(Set.of(1, 2, 3), unreadable.keySet());
    assertSentence(directory.resolve("service-batches/1-2-3.json"), unreadable.get(3));
    batches.remove(1);
    batches.remove(2);
    assertEquals(Set.of(3), batches.ids());
    assertEquals(Set.of(3), batches().load(List.of()).unreadable().keySet());
    batches.remove(3);
    assertEquals(Map.of(), batches().load(List.of()).unreadable());
  }
}
