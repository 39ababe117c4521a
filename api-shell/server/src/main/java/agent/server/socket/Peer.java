package agent.server.socket;

import agent.bindings.net.PeerCredentials;

/**
 * Who has a share of the API: a process, or all processes of a PID namespace in which this process
 * sees none. Where the kernel does not tell the namespace, it is all of their processes of one
 * user.
 *
 * @param pid number of the process; 0: it has none here
 * @param namespace inode number of its PID namespace; 0: it has a number, or that is not known
 * @param uid user where neither is known, otherwise 0
 */
public record Peer(int pid, long namespace, int uid) {
  /** Those of whom the kernel tells nothing. */
  public static final Peer UNKNOWN = new Peer(0, 0, -1);

  /** Reads who is at the other end of a connected socket. */
  static Peer of(int fd, PeerCredentials credentials) {
    if (credentials.pid() != 0) {
      return new Peer(credentials.pid(), 0, 0);
    }
    final long namespace = PeerCredentials.pidNamespaceOf(fd);
    return new Peer(0, namespace, namespace == 0 ? credentials.uid() : 0);
  }

  /** Returns whether it is one process, which this process sees. */
  public boolean isProcess() {
    return pid != 0;
  }

  /** Returns a name for messages. */
  @Override
  public String toString() {
    if (pid != 0) {
      return "process " + pid;
    }
    return namespace != 0
        ? "PID namespace " + namespace
        : "user " + uid + " of other PID namespaces";
  }
}
