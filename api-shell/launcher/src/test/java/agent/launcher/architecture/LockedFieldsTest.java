package agent.launcher.architecture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClass;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Finds a lock that is left out. Where methods of a class use a field that changes under the lock
 * of their object, each other method of the class has to, too; see {@link LockedFields} for what
 * counts.
 */
class LockedFieldsTest {
  /** Uses without the lock that are right, each with the reason. */
  private static final Map<String, String> EXCEPTIONS =
      Map.ofEntries(
          Map.entry(
              "agent.datapath.programs.load.RefusedPrograms.faults: read",
              "faults have a lock of their own"),
          Map.entry(
              "agent.datapath.manager.service.SocketServices.attachments: detach",
              "the conductor's thread"),
          Map.entry("agent.dns.NameCache.held: isPressing", "it reads a volatile field"),
          Map.entry("agent.dns.NameCache.limits: lookup", "limits do not change"),
          Map.entry("agent.ipam.Ipam.leases: open", "no other thread has the allocator yet"),
          Map.entry("agent.ipam.Ipam.pools: pools", "pools do not change"),
          Map.entry(
              "agent.domain.proxy.LocalProxies.requests: report",
              "the map does not change, its adders count by themselves"),
          Map.entry("agent.maps.kernel.WatchedAddressMap.map: map", "the map does not change"),
          Map.entry(
              "agent.policy.PolicyEngine$Listener.this$0: lambda$onIdentityAdded$0",
              "called under the lock"),
          Map.entry(
              "agent.policy.PolicyEngine$Listener.this$0: lambda$onIdentityRemoved$0",
              "called under the lock"),
          Map.entry("agent.policy.PolicyEngine.current: snapshot", "the rules are volatile"),
          Map.entry("agent.policy.PolicyEngine.current: trace", "the rules are volatile"),
          Map.entry("agent.policy.PolicyEngine.hold: isHeld", "the hold is volatile"),
          Map.entry("agent.policy.PolicyEngine.hold: snapshot", "the hold is volatile"),
          Map.entry("agent.policy.PolicyEngine.hold: trace", "the hold is volatile"),
          Map.entry("agent.policy.PolicyEngine.references: selectsName", "names are published"),
          Map.entry(
              "agent.policy.PolicyEngine.references: takeUnselected",
              "names have a lock of their own"),
          Map.entry("agent.policy.PolicyEngine.references: trace", "CIDRs are published"),
          Map.entry("agent.policy.PolicyEngine.references: wantedNames", "names are published"),
          Map.entry("agent.policy.PolicyEngine.resolution: mode", "the mode is volatile"),
          Map.entry("agent.policy.PolicyEngine.subjects: requests", "the feed is for any thread"),
          Map.entry(
              "agent.server.RenderedAnswer$BoundedOutput.isFull: isFull",
              "one thread has the output"),
          Map.entry("agent.server.socket.ListeningSocket.file: isLost", "the file does not change"),
          Map.entry(
              "agent.server.socket.UnixSocketConduit.key: register",
              "no other thread has the connection yet"),
          Map.entry(
              "agent.server.socket.UnixSocketConduit.readHandler: lambda$wakeupReads$0",
              "the I/O thread"),
          Map.entry(
              "agent.server.socket.UnixSocketConduit.readHandler: setReadReadyHandler",
              "the I/O thread, before it reads"),
          Map.entry(
              "agent.server.socket.UnixSocketConduit.writeHandler: lambda$wakeupWrites$0",
              "the I/O thread"),
          Map.entry(
              "agent.server.socket.UnixSocketConduit.writeHandler: setWriteReadyHandler",
              "the I/O thread, before it writes"),
          Map.entry("agent.state.NameJournal.folder: remove", "the folder does not change"));

  private static List<LockedFields> classes;

  @BeforeAll
  static void readClasses() {
    classes =
        ImportDirectionTest.MainClasses.IMPORTED.stream()
            .filter(type -> !type.getPackageName().equals("agent.bindings.libbpf"))
            .map(type -> new LockedFields(ClassFile.of().parse(bytes(type))))
            .filter(type -> !type.locking().isEmpty())
            .toList();
    assertTrue(classes.size() > 50, "classes with locks: " + classes.size());
  }

  private static byte[] bytes(JavaClass type) {
    try (InputStream in = type.getSource().orElseThrow().getUri().toURL().openStream()) {
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Set<String> found() {
    final Set<String> found = new TreeSet<>();
    classes.forEach(type -> found.addAll(type.usesWithoutLock("")));
    return found;
  }

  @Test
  void shouldUseAFieldThatALockGuardsUnderThatLock() {
    final Set<String> found = found();
    found.removeAll(EXCEPTIONS.keySet());
    assertEquals("", String.join("\n", found));
  }

  @Test
  void shouldHaveNoExceptionForWhatHasTheLockOrIsGone() {
    final Set<String> stale = new TreeSet<>(EXCEPTIONS.keySet());
    stale.removeAll(found());
    assertTrue(stale.isEmpty(), stale.toString());
  }

  /** The methods whose lock could be left out unseen use no field, or share it with no other. */
  @Test
  void shouldSeeMostLocksThatAreLeftOut() {
    int locks = 0;
    int seen = 0;
    for (final LockedFields type : classes) {
      final Set<String> before = type.usesWithoutLock("");
      for (final String method : type.locking()) {
        locks++;
        seen += before.containsAll(type.usesWithoutLock(method)) ? 0 : 1;
      }
    }
    assertTrue(4 * seen > 3 * locks, seen + " of " + locks);
  }
}
