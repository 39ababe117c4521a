package agent.server.socket;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.FileChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.xnio.XnioIoThread;
import org.xnio.XnioWorker;
import org.xnio.channels.ReadTimeoutException;
import org.xnio.channels.StreamSinkChannel;
import org.xnio.channels.StreamSourceChannel;
import org.xnio.channels.WriteTimeoutException;
import org.xnio.conduits.ConduitReadableByteChannel;
import org.xnio.conduits.ConduitWritableByteChannel;
import org.xnio.conduits.Conduits;
import org.xnio.conduits.ReadReadyHandler;
import org.xnio.conduits.StreamSinkConduit;
import org.xnio.conduits.StreamSourceConduit;
import org.xnio.conduits.WriteReadyHandler;

/**
 * Reads and writes one accepted socket.
 *
 * <p>The I/O thread and workers change the interest under the lock of this object; handlers run on
 * the I/O thread without the lock. A worker that waits is parked until the socket is ready or
 * closed; its wait fails after the stall limit.
 */
final class UnixSocketConduit
    implements StreamSourceConduit, StreamSinkConduit, UnixIoThread.Selected {
  private static final int DISCARDS_MAX = 64;

  /** Threads write it at the same time, and none reads it. */
  private static final ByteBuffer DISCARDED = ByteBuffer.allocateDirect(16 << 10);

  private final UnixStreamConnection connection;
  private final UnixIoThread ioThread;
  private final SocketChannel channel;
  private final long stallLimitNs;
  private SelectionKey key;
  private ReadReadyHandler readHandler;
  private WriteReadyHandler writeHandler;
  private volatile boolean readsResumed;
  private volatile boolean writesResumed;
  private Thread worker;
  private boolean isWakeupOwed;
  private Thread readWaiter;
  private Thread writeWaiter;
  private ByteBuffer refusalInstead;

  UnixSocketConduit(
      UnixStreamConnection connection,
      UnixIoThread ioThread,
      SocketChannel channel,
      long stallLimitNs) {
    this.connection = connection;
    this.ioThread = ioThread;
    this.channel = channel;
    this.stallLimitNs = stallLimitNs;
  }

  void register() throws IOException {
    key = ioThread.register(channel, 0, this);
  }

  @Override
  public void onReady(int readyOps) {
    if ((readyOps & SelectionKey.OP_READ) != 0) {
      final Thread waiter;
      synchronized (this) {
        waiter = readWaiter;
        readWaiter = null;
        if (!readsResumed) {
          clearInterest(SelectionKey.OP_READ);
        }
      }
      LockSupport.unpark(waiter);
      if (readsResumed) {
        readHandler.readReady();
      }
    }
    if ((readyOps & SelectionKey.OP_WRITE) != 0) {
      final Thread waiter;
      synchronized (this) {
        waiter = writeWaiter;
        writeWaiter = null;
        if (!writesResumed) {
          clearInterest(SelectionKey.OP_WRITE);
        }
      }
      LockSupport.unpark(waiter);
      if (writesResumed) {
        writeHandler.writeReady();
      }
    }
  }

  /** Closes the socket and wakes the selector, which then releases the descriptor. */
  void close() throws IOException {
    discardUnread();
    channel.close();
    ioThread.wakeup();
    synchronized (this) {
      LockSupport.unpark(readWaiter);
      LockSupport.unpark(writeWaiter);
    }
  }

  /**
   * Reads and discards received bytes that no handler reads, such as the body of a refused request:
   * where a socket is closed with unread bytes, the kernel resets the connection, and the client
   * may not receive the answer (unix_release_sock).
   */
  private void discardUnread() {
    final ByteBuffer unread = DISCARDED.duplicate();
    try {
      int discards = 0;
      while (discards < DISCARDS_MAX && channel.read(unread.clear()) > 0) {
        discards++;
      }
    } catch (IOException gone) {
      return; // the client closed the connection
    }
  }

  private void setInterest(int op) {
    addInterest(op);
    ioThread.wakeup();
  }

  private void addInterest(int op) {
    try {
      key.interestOpsOr(op);
    } catch (CancelledKeyException e) {
      // Closed meanwhile: the next read or write fails.
      return;
    }
  }

  private void clearInterest(int op) {
    try {
      key.interestOpsAnd(~op);
    } catch (CancelledKeyException e) {
      // Closed meanwhile: no interest is left to change.
      return;
    }
  }

  // Reading.

  @Override
  public int read(ByteBuffer dst) throws IOException {
    return connection.isReadShutdown() ? -1 : (int) noted(System.nanoTime(), channel.read(dst));
  }

  @Override
  public long read(ByteBuffer[] dsts, int offset, int length) throws IOException {
    return connection.isReadShutdown()
        ? -1
        : noted(System.nanoTime(), channel.read(dsts, offset, length));
  }

  /** The time is taken before the bytes move, so that it orders what a client does in turn. */
  private long noted(long timeNs, long bytes) {
    if (bytes > 0) {
      connection.onActivity(timeNs);
    }
    return bytes;
  }

  /**
   * Returns whether a worker is parked, or a write has to go on, until the client does its part.
   */
  synchronized boolean waitsForClient() {
    return readWaiter != null || writeWaiter != null || writesResumed;
  }

  @Override
  public long transferTo(long position, long count, FileChannel target) throws IOException {
    return target.transferFrom(new ConduitReadableByteChannel(this), position, count);
  }

  @Override
  public long transferTo(long count, ByteBuffer throughBuffer, StreamSinkChannel target)
      throws IOException {
    return Conduits.transfer(this, count, throughBuffer, target);
  }

  synchronized void beginWork() {
    worker = Thread.currentThread();
    suspendReads();
  }

  void endWork() {
    final boolean isOwed;
    synchronized (this) {
      isOwed = isWakeupOwed;
      isWakeupOwed = false;
      worker = worker == Thread.currentThread() ? null : worker;
    }
    if (isOwed) {
      ioThread.wakeup();
    }
  }

  @Override
  public synchronized void resumeReads() {
    readsResumed = true;
    if (worker == Thread.currentThread()) {
      addInterest(SelectionKey.OP_READ);
      isWakeupOwed = true;
    } else {
      setInterest(SelectionKey.OP_READ);
    }
  }

  @Override
  public synchronized void suspendReads() {
    readsResumed = false;
    if (readWaiter == null) {
      clearInterest(SelectionKey.OP_READ);
    }
  }

  @Override
  public void wakeupReads() {
    resumeReads();
    ioThread.execute(
        () -> {
          if (readsResumed) {
            readHandler.readReady();
          }
        });
  }

  @Override
  public boolean isReadResumed() {
    return readsResumed;
  }

  @Override
  public void awaitReadable() throws IOException {
    awaitReadable(stallLimitNs, TimeUnit.NANOSECONDS);
  }

  @Override
  public void awaitReadable(long time, TimeUnit unit) throws IOException {
    final long limitNs = Math.min(unit.toNanos(time), stallLimitNs);
    synchronized (this) {
      readWaiter = Thread.currentThread();
      setInterest(SelectionKey.OP_READ);
    }
    final long deadlineNs = System.nanoTime() + limitNs;
    long leftNs = limitNs;
    while (readWaiterRemains() && leftNs > 0) {
      LockSupport.parkNanos(this, leftNs);
      leftNs = deadlineNs - System.nanoTime();
    }
    if (limitNs == stallLimitNs && readWaiterRemains()) {
      connection.close();
      throw new ReadTimeoutException("the client sent nothing for " + stallLimitText());
    }
  }

  private synchronized boolean readWaiterRemains() {
    return readWaiter == Thread.currentThread() && channel.isOpen();
  }

  @Override
  public void terminateReads() {
    readsResumed = false;
    connection.onReadClosed();
  }

  @Override
  public boolean isReadShutdown() {
    return connection.isReadShutdown();
  }

  @Override
  public XnioIoThread getReadThread() {
    return ioThread;
  }

  @Override
  public void setReadReadyHandler(ReadReadyHandler handler) {
    readHandler = handler;
  }

  // Writing.

  @Override
  public int write(ByteBuffer src) throws IOException {
    final ByteBuffer refusal = refusalInstead == null ? BodilessRefusal.withBody(src) : null;
    if (refusal != null) {
      refusalInstead = refusal;
    }
    return refusalInstead == null
        ? (int) noted(System.nanoTime(), channel.write(src))
        : writeRefusal(src);
  }

  /** Closes the connection after a refusal, so that nothing is written after it. */
  private int writeRefusal(ByteBuffer src) throws IOException {
    channel.write(refusalInstead);
    if (refusalInstead.hasRemaining()) {
      return 0;
    }
    final int count = src.remaining();
    src.position(src.limit());
    return count;
  }

  @Override
  public long write(ByteBuffer[] srcs, int offset, int length) throws IOException {
    return noted(System.nanoTime(), channel.write(srcs, offset, length));
  }

  @Override
  public int writeFinal(ByteBuffer src) throws IOException {
    return Conduits.writeFinalBasic(this, src);
  }

  @Override
  public long writeFinal(ByteBuffer[] srcs, int offset, int length) throws IOException {
    return Conduits.writeFinalBasic(this, srcs, offset, length);
  }

  @Override
  public long transferFrom(FileChannel src, long position, long count) throws IOException {
    return src.transferTo(position, count, new ConduitWritableByteChannel(this));
  }

  @Override
  public long transferFrom(StreamSourceChannel source, long count, ByteBuffer throughBuffer)
      throws IOException {
    return Conduits.transfer(source, count, throughBuffer, this);
  }

  @Override
  public boolean flush() {
    return true;
  }

  @Override
  public synchronized void resumeWrites() {
    writesResumed = true;
    setInterest(SelectionKey.OP_WRITE);
  }

  @Override
  public synchronized void suspendWrites() {
    writesResumed = false;
    if (writeWaiter == null) {
      clearInterest(SelectionKey.OP_WRITE);
    }
  }

  @Override
  public void wakeupWrites() {
    resumeWrites();
    ioThread.execute(
        () -> {
          if (writesResumed) {
            writeHandler.writeReady();
          }
        });
  }

  @Override
  public boolean isWriteResumed() {
    return writesResumed;
  }

  @Override
  public void awaitWritable() throws IOException {
    awaitWritable(stallLimitNs, TimeUnit.NANOSECONDS);
  }

  @Override
  public void awaitWritable(long time, TimeUnit unit) throws IOException {
    final long limitNs = Math.min(unit.toNanos(time), stallLimitNs);
    synchronized (this) {
      writeWaiter = Thread.currentThread();
      setInterest(SelectionKey.OP_WRITE);
    }
    final long deadlineNs = System.nanoTime() + limitNs;
    long leftNs = limitNs;
    while (writeWaiterRemains() && leftNs > 0) {
      LockSupport.parkNanos(this, leftNs);
      leftNs = deadlineNs - System.nanoTime();
    }
    if (limitNs == stallLimitNs && writeWaiterRemains()) {
      connection.close();
      throw new WriteTimeoutException("the client read nothing for " + stallLimitText());
    }
  }

  private synchronized boolean writeWaiterRemains() {
    return writeWaiter == Thread.currentThread() && channel.isOpen();
  }

  @Override
  public void terminateWrites() throws IOException {
    writesResumed = false;
    if (channel.isOpen() && !connection.isWriteShutdown()) {
      channel.shutdownOutput();
    }
    connection.onWriteClosed();
  }

  @Override
  public void truncateWrites() throws IOException {
    terminateWrites();
  }

  @Override
  public boolean isWriteShutdown() {
    return connection.isWriteShutdown();
  }

  @Override
  public XnioIoThread getWriteThread() {
    return ioThread;
  }

  @Override
  public void setWriteReadyHandler(WriteReadyHandler handler) {
    writeHandler = handler;
  }

  /** Returns null: the I/O thread has no worker. */
  @Override
  public XnioWorker getWorker() {
    return null;
  }

  private String stallLimitText() {
    return TimeUnit.NANOSECONDS.toSeconds(stallLimitNs) + " s";
  }
}
