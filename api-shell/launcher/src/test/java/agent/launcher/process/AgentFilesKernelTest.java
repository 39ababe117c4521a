package agent.launcher.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.testkit.Commands;
import agent.testkit.KernelTest;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files that are not the agent's, and the modes of its own. */
@KernelTest
class AgentFilesKernelTest {
  @TempDir private Path folder;
  private TestNode node;

  @BeforeEach
  void openNode() throws Exception {
    node = new TestNode();
  }

  @AfterEach
  void closeNode() throws Exception {
    node.close();
  }

  @Test
  void shouldLeaveADeviceInThePlaceOfItsSocket() throws Exception {
    final Path device = folder.resolve("device");
    Commands.run("mknod", device.toString(), "c", "1", "3");
    final AgentProcess agent = node.launch("--socket-path", device.toString());
    refused(1, "socket " + device + ": the file exists and is not a socket", agent);
    assertTrue(Files.readAttributes(device, "isOther").containsValue(true));
    assertEquals(259L, Files.getAttribute(device, "unix:rdev"));
  }

  @Test
  void shouldLeaveAFifoInThePlaceOfItsSocket() throws Exception {
    final Path fifo = folder.resolve("fifo");
    Commands.run("mkfifo", fifo.toString());
    final Object inode = Files.getAttribute(fifo, "unix:ino");
    final AgentProcess agent = node.launch("--socket-path", fifo.toString());
    refused(1, "socket " + fifo + ": the file exists and is not a socket", agent);
    assertTrue(Files.readAttributes(fifo, "isOther").containsValue(true));
    assertEquals(inode, Files.getAttribute(fifo, "unix:ino"));
  }

  @Test
  void shouldFollowNoLinkInThePlaceOfItsLock() throws Exception {
    final Path precious = Files.writeString(folder.resolve("precious"), "precious");
    final Path lock = node.state().resolve("agent.lock");
    Files.createSymbolicLink(lock, precious);
    refused(2, lock + ": it is not the lock file of an agent", node.launch());
    Files.delete(lock);
    Files.createLink(lock, precious);
    refused(2, lock + ": it is not the lock file of an agent", node.launch());
    assertEquals("precious", Files.readString(precious));
  }

  @Test
  void shouldRefuseAStateDirectoryOfOthers() throws Exception {
    final Path parent = Files.createDirectory(folder.resolve("parent"));
    final Path state = Files.createDirectory(parent.resolve("state"));
    mode("rwxrwx---", state);
    stateRefused(state, state + ": writable by other users (mode 0770)");
    mode("rwx------", state);
    Files.setAttribute(state, "unix:uid", 65533);
    stateRefused(state, state + ": owned by uid 65533");
    Files.setAttribute(state, "unix:uid", 0);
    mode("rwxrwxrwx", parent);
    stateRefused(state, state + ": " + parent + ": writable by other users (mode 0777)");
    Files.setAttribute(parent, "unix:uid", 65533);
    mode("rwxr-xr-x", parent);
    stateRefused(
        parent.resolve("new/state"), parent + "/new/state: " + parent + ": owned by uid 65533");
    final Path link = Files.createSymbolicLink(folder.resolve("link"), parent);
    stateRefused(link.resolve("state"), link + "/state: " + parent + ": owned by uid 65533");
    assertFalse(Files.exists(state.resolve("agent.lock")));
    assertFalse(Files.exists(parent.resolve("new")));
  }

  @Test
  void shouldSayWhatIsWrongWithAStateDirectoryThatIsNone() throws Exception {
    final Path file = Files.writeString(folder.resolve("file"), "precious");
    try (AgentProcess agent = AgentProcess.start(node.namespace(), file, node.bpfRoot())) {
      refused(1, "state directory " + file + ": ", agent);
    }
    try (AgentProcess agent =
        AgentProcess.start(node.namespace(), file.resolve("below"), node.bpfRoot())) {
      refused(1, "state directory " + file + "/below: ", agent);
    }
    assertEquals("precious", Files.readString(file));
  }

  @Test
  void shouldKeepItsFilesForItselfWithoutAMask() throws Exception {
    final Path sockets = folder.resolve("a/b");
    final AgentProcess agent =
        node.launchWithoutMask("--socket-path", sockets.resolve("agent.sock").toString());
    agent.readyAt(sockets.resolve("agent.sock"));
    assertTrue(
        Files.readAllLines(Path.of("/proc/" + agent.pid() + "/status")).contains("Umask:\t0077"),
        "the mask of what is created without a mode");
    node.workload(agent, "alone", "app=alone");
    final List<String> open = new ArrayList<>();
    for (final Path root : List.of(node.bpfRoot().resolve("agent"), node.state())) {
      try (var files = Files.walk(root)) {
        for (final Path file : files.toList()) {
          final int mode =
              (Integer) Files.getAttribute(file, "unix:mode", LinkOption.NOFOLLOW_LINKS);
          if ((mode & 077) != 0) {
            open.add(file + " %o".formatted(mode));
          }
        }
      }
    }
    assertEquals(List.of(), open);
    assertEquals(
        "rwxr-xr-x", PosixFilePermissions.toString(Files.getPosixFilePermissions(sockets)));
  }

  @Test
  void shouldCloseTheFoldersOfPinsThatAnEarlierAgentLeftOpen() throws Exception {
    final Path devices = node.bpfRoot().resolve("agent/devices");
    final Path device = devices.resolve("gone0");
    Files.createDirectories(device);
    mode("rwxrwxrwx", device);
    mode("rwxrwxrwx", devices);
    mode("rwxrwxrwx", devices.getParent());
    node.agent();
    for (final Path closed : List.of(device, devices, devices.getParent())) {
      assertEquals(
          "rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(closed)));
    }
  }

  @Test
  void shouldEndWithACodeWhereDescriptorsAreTooFew() throws Exception {
    refused(
        1,
        "the limit of open files is 200, but the agent needs 384 (ulimit -n, LimitNOFILE=)",
        node.launchWithDescriptors(200));
  }

  @Test
  void shouldSayInOneLineWhichPathCannotBeUsed() throws Exception {
    final Path file = Files.writeString(folder.resolve("file"), "precious");
    refused(
        1,
        "socket " + file + "/a/agent.sock: ",
        node.launch("--socket-path", file + "/a/agent.sock"));
    refused(2, "--socket-path: '/': not a file name", node.launch("--socket-path", "/"));
    refused(2, "--socket-path: '': not a file name", node.launch("--socket-path", ""));
    refused(
        1,
        "socket " + folder + ": the file exists and is not a socket",
        node.launch("--socket-path", folder.toString()));
    for (final Path root : List.of(file, file.resolve("below"))) {
      try (AgentProcess agent = AgentProcess.start(node.namespace(), node.state(), root)) {
        refused(2, "--bpf-root: '" + file + "' is not a directory", agent);
      }
    }
    assertEquals("precious", Files.readString(file));
  }

  @Test
  void shouldSayInOneLineThatTheStateDirectoryIsReadOnly() throws Exception {
    final Path state = Files.createDirectory(folder.resolve("state"));
    mode("rwx------", state);
    Commands.run("mount", "-t", "tmpfs", "-o", "ro,mode=0700", "tmpfs", state.toString());
    try (AgentProcess agent = AgentProcess.start(node.namespace(), state, node.bpfRoot())) {
      refused(1, "state directory " + state + ": read-only file system", agent);
    } finally {
      Commands.run("umount", state.toString());
    }
  }

  private void stateRefused(Path state, String message) throws Exception {
    try (AgentProcess agent = AgentProcess.start(node.namespace(), state, node.bpfRoot())) {
      refused(2, "--state-dir: " + message, agent);
    }
  }

  private static void refused(int code, String message, AgentProcess agent) throws Exception {
    assertEquals(code, agent.exitCode(), agent.log());
    assertTrue(agent.log().contains(message), agent.log());
    assertEquals(1, agent.log().lines().count(), agent.log());
    assertFalse(agent.log().matches("(?s).*\\w+(Exception|Error)\\b.*"), agent.log());
  }

  private static void mode(String permissions, Path file) throws Exception {
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permissions));
  }
}
