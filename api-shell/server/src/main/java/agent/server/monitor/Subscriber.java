package agent.server.monitor;

import agent.contract.monitor.MonitorStream;
import agent.datapath.spec.DatapathEvents;
import agent.datapath.spec.FlowRing;
import agent.maps.layout.FlowEventFlyweight;
import agent.maps.layout.FlowEvents;
import agent.maps.layout.TranslationEventFlyweight;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.agrona.BitUtil;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.ControlledMessageHandler;
import org.agrona.concurrent.ControlledMessageHandler.Action;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.ringbuffer.ManyToOneRingBuffer;
import org.agrona.concurrent.ringbuffer.RingBuffer;
import org.agrona.concurrent.ringbuffer.RingBufferDescriptor;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * One subscriber: a bounded queue outside the heap, which {@code dp-events} fills and a thread of
 * its own empties into the socket. An event that does not fit is counted and left out, so that a
 * client that does not read holds up no other one. What fills the queue allocates nothing. Events
 * that the ring of flows has are copied from there, before those of the queue, and after them the
 * requests that are kept.
 */
final class Subscriber implements DatapathEvents.FlowSubscriber, Runnable {
  private static final Logger LOGGER = LogManager.getLogger(Subscriber.class);

  /** More than the longest frame: an event with a packet of 65535 bytes. */
  private static final int OUT_BYTES = 128 * 1024;

  private static final int MOST_QUEUE_BYTES = 128 * 1024 * 1024;
  private static final int LONGEST_AGENT_EVENT = 8 * 1024;

  /** A message may take an eighth of a ring buffer. */
  private static final int LEAST_QUEUE = 8;

  private static final long SUBSCRIBE_LIMIT_MS = 5_000;
  private static final long LOST_CHECK_MS = 1_000;
  private static final long POLL_LIMIT_MS = 5_000;
  private static final long POLL_CHECK_MS = 20;
  private static final int FLOW_TYPES =
      MonitorStream.DROPS | MonitorStream.VERDICTS | MonitorStream.TRACES;
  private static final int ACTIVITIES = MonitorStream.AGENT_EVENTS | MonitorStream.REQUESTS;
  private static final int FLOW_FRAME = MonitorStream.HEADER_BYTES + FlowEventFlyweight.LENGTH;
  private static final long UNKNOWN = -1;

  private final SocketChannel channel;
  private final Selector selector;
  private final SelectionKey key;
  private final DatapathEvents datapath;
  private final FlowRing flows;
  private final AgentEvents agent;
  private final Offer offer;
  private final ByteBuffer in = ByteBuffer.allocate(256).order(ByteOrder.LITTLE_ENDIAN);
  private final ByteBuffer out =
      ByteBuffer.allocateDirect(OUT_BYTES).order(ByteOrder.LITTLE_ENDIAN);
  private final AtomicLong left = new AtomicLong();

  /** The first position in the ring of flows that comes through the queue. */
  private final AtomicLong liveFrom = new AtomicLong(UNKNOWN);

  private final UnsafeBuffer copy = new UnsafeBuffer(new byte[FlowEventFlyweight.LENGTH]);
  private final FlowEventFlyweight kept = new FlowEventFlyweight().wrap(copy, 0);
  private final Arena memory;
  private final ControlledMessageHandler toFrame = this::toFrame;
  private ManyToOneRingBuffer queue;
  private int mask;
  private int begin;
  private long kernelLostBefore;
  private long reportedKernelLost;
  private long reportedLeft;
  private long lostCheckedNs;
  private volatile boolean isWaiting;
  private volatile boolean isClosed;

  /**
   * What each subscriber is offered.
   *
   * @param queueEvents flow events that its queue has to hold
   * @param packetBytes first bytes of a packet that an event may have
   * @param version of the agent
   * @param reasons names of the drop reasons
   * @param directions names of the directions
   */
  record Offer(
      DatapathEvents datapath,
      AgentEvents agent,
      int queueEvents,
      int packetBytes,
      String version,
      String[] reasons,
      String[] directions) {}

  /**
   * Wraps a non-blocking connection.
   *
   * @param memory for the queue; closed where no event can be on its way into it
   */
  Subscriber(SocketChannel channel, Offer offer, Arena memory) throws IOException {
    this.channel = channel;
    this.offer = offer;
    this.memory = memory;
    datapath = offer.datapath();
    flows = datapath.flows();
    agent = offer.agent();
    selector = Selector.open();
    key = channel.register(selector, SelectionKey.OP_READ);
  }

  @Override
  public void run() {
    try {
      mask = subscription();
      if (mask != 0) {
        serve();
      }
    } catch (IOException ended) {
      LOGGER.debug("a subscriber of events disconnected: {}", ended.getMessage());
    } catch (CompletionException failure) {
      LOGGER.warn("the programs emit no events: {}", failure.getCause().getMessage());
    } catch (OutOfMemoryError failure) {
      LOGGER.error("no memory for the queue of a subscriber of events: {}", failure.getMessage());
    } finally {
      agent.remove(this);
      datapath.unsubscribe(this);
      close(selector);
      close(channel);
      freeQueue();
    }
  }

  /**
   * Frees the queue when no event is on its way into it. Keeps it where that is not certain, and
   * where the process ends.
   */
  private void freeQueue() {
    if (queue == null) {
      memory.close();
      return;
    }
    final long polls = datapath.polls();
    final long endNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(POLL_LIMIT_MS);
    while (datapath.polls() == polls) {
      if (isClosed || System.nanoTime() > endNs) {
        return;
      }
      try {
        Thread.sleep(POLL_CHECK_MS);
      } catch (InterruptedException ended) {
        Thread.currentThread().interrupt();
        return;
      }
    }
    memory.close();
  }

  private static void close(AutoCloseable resource) {
    try {
      resource.close();
    } catch (Exception failure) {
      LOGGER.debug("closing a subscriber: {}", failure.getMessage());
    }
  }

  /** Returns the mask that the client sends, or 0 where it sends none in time. */
  private int subscription() throws IOException {
    final long endNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(SUBSCRIBE_LIMIT_MS);
    final int length = MonitorStream.HEADER_BYTES + Integer.BYTES;
    in.limit(length);
    while (in.hasRemaining()) {
      final long leftMs = TimeUnit.NANOSECONDS.toMillis(endNs - System.nanoTime());
      if (leftMs <= 0 || isClosed) {
        return 0;
      }
      selector.select(leftMs);
      if (channel.read(in) < 0) {
        return 0;
      }
    }
    return in.getInt(0) == length && in.getShort(4) == MonitorStream.SUBSCRIBE ? in.getInt(8) : 0;
  }

  private void serve() throws IOException {
    kernelLostBefore = datapath.lost();
    if ((mask & MonitorStream.KEPT_ALONE) != 0) {
      hello(0);
      sendKept(agent.kept());
      addLost();
      send();
      return;
    }
    final int events = createQueue();
    if ((mask & (FLOW_TYPES | MonitorStream.TRANSLATIONS)) != 0) {
      datapath.subscribe(this).join();
    }
    final List<AgentEvents.Event> requests = (mask & ACTIVITIES) != 0 ? agent.add(this) : List.of();
    hello(events);
    if ((mask & MonitorStream.KEPT_FIRST) != 0) {
      sendKept(requests);
    }
    while (!isClosed) {
      queue.controlledRead(toFrame);
      addLost();
      if (out.position() > 0) {
        send();
      } else {
        await(SelectionKey.OP_READ, LOST_CHECK_MS);
      }
    }
  }

  /** Returns how many events fit the queue. */
  private int createQueue() {
    final int captured = capturesPackets() ? offer.packetBytes() : 0;
    final int longest =
        Math.max(
            FlowEventFlyweight.LENGTH + captured,
            hearsTranslations() ? TranslationEventFlyweight.LENGTH : 0);
    final int message = BitUtil.align(longest + 8, 8);
    final long events = Math.max(LEAST_QUEUE, offer.queueEvents());
    final int capacity =
        BitUtil.findNextPositivePowerOfTwo((int) Math.min(MOST_QUEUE_BYTES, events * message));
    final int bytes = capacity + RingBufferDescriptor.TRAILER_LENGTH;
    final long address = memory.allocate(bytes, BitUtil.CACHE_LINE_LENGTH).address();
    queue = new ManyToOneRingBuffer(new UnsafeBuffer(address, bytes));
    return capacity / message;
  }

  /**
   * Sends the events of the ring that do not come through the queue, and the requests. One that is
   * overwritten before it is sent is lost where an older one was sent, and else no longer kept.
   */
  private void sendKept(List<AgentEvents.Event> requests) throws IOException {
    final long end = liveFrom(flows.position());
    boolean isAnySent = false;
    for (long at = Math.max(0, end - flows.capacity()); at < end && !isClosed; at++) {
      if (!flows.read(at, copy, 0)) {
        left.addAndGet(isAnySent ? 1 : 0);
      } else if (isWanted(kept)) {
        makeRoom(FLOW_FRAME);
        begin(MonitorStream.FLOW);
        copy.getBytes(0, out, FlowEventFlyweight.LENGTH);
        end();
        isAnySent = true;
      }
    }
    if ((mask & MonitorStream.REQUESTS) != 0) {
      for (final AgentEvents.Event request : requests) {
        makeRoom(MonitorStream.HEADER_BYTES + Long.BYTES + request.json().length);
        begin(MonitorStream.AGENT);
        out.putLong(request.timeNs()).put(request.json());
        end();
      }
    }
    send(); // a loss has room after it
    begin(MonitorStream.KEPT);
    end();
  }

  private void makeRoom(int bytes) throws IOException {
    if (out.remaining() < bytes) {
      send();
    }
  }

  /** Returns where live events begin, which the first one says that wants to know. */
  private long liveFrom(long position) {
    if (liveFrom.get() == UNKNOWN) {
      liveFrom.compareAndSet(UNKNOWN, position);
    }
    return liveFrom.get();
  }

  private boolean isWanted(FlowEventFlyweight event) {
    return (mask >>> event.type() & 1) != 0;
  }

  /** Returns whether the event that the ring has taken last is sent from there. */
  private boolean isSentAsKept() {
    if ((mask & MonitorStream.KEPT_FIRST) == 0 || flows.capacity() == 0) {
      return false;
    }
    final long at = flows.position() - 1;
    return at < liveFrom(at);
  }

  private void hello(int events) {
    begin(MonitorStream.HELLO);
    out.putShort((short) MonitorStream.VERSION).putShort((short) FlowEventFlyweight.LENGTH);
    out.putInt(events);
    out.putLong(TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis()) - System.nanoTime());
    text(offer.version());
    texts(offer.reasons());
    texts(offer.directions());
    out.putInt(offer.packetBytes());
    out.putInt(flows.capacity());
    out.putShort((short) TranslationEventFlyweight.LENGTH);
    end();
  }

  private void texts(String[] all) {
    out.put((byte) all.length);
    for (final String one : all) {
      text(one);
    }
  }

  private void text(String text) {
    final byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    out.put((byte) bytes.length).put(bytes);
  }

  private void begin(int type) {
    begin = out.position();
    out.putInt(0).putShort((short) type).putShort((short) 0);
  }

  private void end() {
    out.putInt(begin, out.position() - begin);
  }

  /** Adds a message of the queue to what is sent next, if there is room. */
  private Action toFrame(int type, MutableDirectBuffer buffer, int index, int length) {
    if (out.remaining() < MonitorStream.HEADER_BYTES + length) {
      return Action.ABORT;
    }
    begin(type);
    buffer.getBytes(index, out, length);
    end();
    return Action.CONTINUE;
  }

  /** Reports new losses, those of the kernel's ring at most once a second. */
  private void addLost() {
    final long nowNs = System.nanoTime();
    long kernelLost = reportedKernelLost;
    if (nowNs - lostCheckedNs >= TimeUnit.MILLISECONDS.toNanos(LOST_CHECK_MS)) {
      lostCheckedNs = nowNs;
      kernelLost = datapath.lost() - kernelLostBefore;
    }
    final long nowLeft = left.get();
    if ((kernelLost != reportedKernelLost || nowLeft != reportedLeft)
        && out.remaining() >= MonitorStream.HEADER_BYTES + 2 * Long.BYTES) {
      reportedKernelLost = kernelLost;
      reportedLeft = nowLeft;
      begin(MonitorStream.LOST);
      out.putLong(kernelLost).putLong(nowLeft);
      end();
    }
  }

  private void send() throws IOException {
    out.flip();
    while (out.hasRemaining() && !isClosed) {
      if (channel.write(out) == 0) {
        await(SelectionKey.OP_READ | SelectionKey.OP_WRITE, LOST_CHECK_MS);
      }
    }
    out.clear();
  }

  /** Waits until the channel is ready, the queue has a message, or the time is over. */
  private void await(int operations, long limitMs) throws IOException {
    key.interestOps(operations);
    if ((operations & SelectionKey.OP_WRITE) == 0) {
      isWaiting = true;
      if (queue.size() > 0) {
        isWaiting = false;
        return;
      }
    }
    selector.select(limitMs);
    isWaiting = false;
    if (selector.selectedKeys().remove(key) && key.isReadable() && channel.read(in.clear()) < 0) {
      throw new EOFException("closed by the client");
    }
  }

  @Override
  public void onEvent(FlowEventFlyweight event) {
    if (isSentAsKept() || !isWanted(event)) {
      return;
    }
    final int captured = capturesPackets() ? event.capturedLength() : 0;
    final int index = queue.tryClaim(MonitorStream.FLOW, FlowEventFlyweight.LENGTH + captured);
    if (index == RingBuffer.INSUFFICIENT_CAPACITY) {
      left.incrementAndGet();
      return;
    }
    FlowEvents.copy(event, queue.buffer(), index, captured);
    queue.commit(index);
    wake();
  }

  @Override
  public void onTranslation(TranslationEventFlyweight event) {
    if (!hearsTranslations()) {
      return;
    }
    final int index = queue.tryClaim(MonitorStream.TRANSLATION, TranslationEventFlyweight.LENGTH);
    if (index == RingBuffer.INSUFFICIENT_CAPACITY) {
      left.incrementAndGet();
      return;
    }
    FlowEvents.copy(event, queue.buffer(), index);
    queue.commit(index);
    wake();
  }

  @Override
  public boolean hearsPackets() {
    return (mask & FLOW_TYPES) != 0;
  }

  @Override
  public boolean hearsTranslations() {
    return (mask & MonitorStream.TRANSLATIONS) != 0;
  }

  @Override
  public boolean capturesPackets() {
    return (mask & MonitorStream.PACKET_BYTES) != 0;
  }

  void onAgentEvent(AgentEvents.Event event) {
    if (!event.isRequest() && (mask & MonitorStream.AGENT_EVENTS) == 0) {
      return;
    }
    final byte[] json = event.json();
    final int length = Long.BYTES + json.length;
    final boolean isTooLong = json.length > LONGEST_AGENT_EVENT || length > queue.maxMsgLength();
    final int index =
        isTooLong ? RingBuffer.INSUFFICIENT_CAPACITY : queue.tryClaim(MonitorStream.AGENT, length);
    if (index == RingBuffer.INSUFFICIENT_CAPACITY) {
      left.incrementAndGet();
      return;
    }
    queue.buffer().putLong(index, event.timeNs());
    queue.buffer().putBytes(index + Long.BYTES, json);
    queue.commit(index);
    wake();
  }

  private void wake() {
    if (isWaiting) {
      isWaiting = false;
      selector.wakeup();
    }
  }

  /** Makes the thread end soon. */
  void stop() {
    isClosed = true;
    selector.wakeup();
  }
}
