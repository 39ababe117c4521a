package agent.launcher.process;

import agent.bindings.BindingsException;
import agent.bindings.Errno;
import agent.bindings.bpf.BpfFileSystem;
import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.LibBpf;
import agent.bindings.bpf.MapCalls;
import agent.bindings.bpf.MapDescription;
import agent.bindings.process.ProcessAttributes;
import agent.datapath.spec.RedirectProxy;
import agent.maps.kernel.BpfMap;
import agent.maps.kernel.EntryBuffer;
import agent.maps.kernel.MapDefinition;
import agent.maps.kernel.MapDefinitions;
import java.io.IOException;
import java.io.InputStream;
import java.net.SocketException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Tries what only the agent may do, in a process that has given up its rights as that of the
 * proxies has: each line says what the kernel answers.
 */
public final class WithoutRights {
  /** What it prints where the kernel refuses all of it. */
  static final String EXPECTED =
      """
      become root: EPERM
      open a pin: EACCES
      open a map by its id: EPERM
      write by a descriptor for reading: EPERM
      look up by it: ENOENT
      load a program: EPERM
      read the state: denied
      list the pins: denied
      connect to the API: denied
      read the memory of the agent: denied
      """;

  private WithoutRights() {}

  /** Returns what it prints. */
  static String run(TestNode node, AgentProcess agent) throws Exception {
    final Path pin = node.bpfRoot().resolve("agent/maps/ipcache4");
    final List<String> command = new ArrayList<>();
    command.addAll(
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            WithoutRights.class.getName(),
            pin.toString(),
            node.state().toString(),
            agent.socket().toString(),
            Long.toString(agent.pid())));
    final Process process =
        new ProcessBuilder(node.namespace().inside(command.toArray(String[]::new)))
            .redirectErrorStream(true)
            .start();
    final String output =
        new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    process.waitFor();
    return output;
  }

  /** What may be refused. */
  private interface Attempt {
    void make() throws Exception;
  }

  /**
   * Drops all rights and tries.
   *
   * @param arguments a pin, the directory of the state, the socket of the API and the agent's pid
   */
  public static void main(String[] arguments) throws Exception {
    LibBpf.ensureLoaded();
    final Path pin = Path.of(arguments[0]);
    final int fd = BpfFileSystem.openReadOnly(pin);
    final MapDefinition definition = MapDefinition.of(MapDescription.of(fd).spec());
    final BpfMap map = BpfMap.adopt(fd, definition, "");
    final EntryBuffer entry = new EntryBuffer(map);
    final byte[] elf;
    try (InputStream in = MapDefinitions.class.getResourceAsStream("/bpf/endpoint.bpf.o")) {
      elf = in.readAllBytes();
    }
    final int id = 1;
    attempt("load", () -> {}); // the classes are there before the user changes
    ProcessAttributes.becomeUser(RedirectProxy.USER);
    say("become root", attemptRoot());
    say("open a pin", Errno.name(-BpfFileSystem.open(pin)));
    say("open a map by its id", Errno.name(-MapCalls.openById(id)));
    say("write by a descriptor for reading", Errno.name(-map.update(entry, 0)));
    say("look up by it", Errno.name(-map.lookup(entry)));
    say("load a program", load(elf));
    final Path state = Path.of(arguments[1]);
    say("read the state", attempt("read", () -> readAll(state)));
    say("list the pins", attempt("list", () -> Files.list(pin.getParent()).close()));
    say("connect to the API", attempt("connect", () -> connect(Path.of(arguments[2]))));
    say(
        "read the memory of the agent",
        attempt(
            "memory", () -> Files.newInputStream(Path.of("/proc", arguments[3], "mem")).close()));
  }

  private static void say(String what, String answer) {
    System.out.println(what + ": " + answer);
  }

  private static String attemptRoot() {
    try {
      ProcessAttributes.becomeUser(0);
      return "done";
    } catch (BindingsException refused) {
      return Errno.name(refused.errno());
    }
  }

  private static String load(byte[] elf) {
    try (BpfObject object = BpfObject.open(elf, "endpoint")) {
      object.load();
      return "done";
    } catch (BindingsException refused) {
      return Errno.name(refused.errno());
    }
  }

  /** Reads every file, of which none may be read. */
  private static void readAll(Path state) throws IOException {
    int refused = 0;
    try (Stream<Path> files = Files.list(state)) {
      for (final Path file : files.toList()) {
        try {
          if (Files.isDirectory(file)) {
            Files.list(file).close();
          } else if (Files.isRegularFile(file)) {
            Files.readAllBytes(file);
          } else {
            continue;
          }
          throw new IOException(file + " was read");
        } catch (AccessDeniedException denied) {
          refused++;
        }
      }
    }
    if (refused > 0) {
      throw new AccessDeniedException(state.toString());
    }
  }

  private static void connect(Path socket) throws IOException {
    try (SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(socket))) {
      throw new IOException("connected: " + channel);
    } catch (SocketException refused) {
      throw new AccessDeniedException(refused.getMessage());
    }
  }

  private static String attempt(String what, Attempt attempt) throws Exception {
    try {
      attempt.make();
      return "done";
    } catch (AccessDeniedException denied) {
      return "denied";
    } catch (IOException other) {
      return what + ": " + other.getMessage();
    }
  }
}
