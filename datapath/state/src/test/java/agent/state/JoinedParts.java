package agent.state;

import java.nio.ByteBuffer;
import java.util.List;

/** The parts of a document in one buffer. */
final class JoinedParts {
  private JoinedParts() {}

  static ByteBuffer of(List<ByteBuffer> parts) {
    final ByteBuffer all =
        ByteBuffer.allocate(parts.stream().mapToInt(ByteBuffer::remaining).sum());
    parts.forEach(part -> all.put(part.duplicate()));
    return all.flip();
  }
}
