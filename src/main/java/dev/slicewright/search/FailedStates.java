package dev.slicewright.search;

import java.util.Arrays;

/**
 * Remembers keys, as many as memory allows; which to forget is decided by how much work each saves.
 * Confined to one thread at a time.
 *
 * <p>A table of buckets of four slots that doubles until it may not grow. Keys are compared whole.
 * O(words of a key) a call.
 */
final class FailedStates {

  private static final int SLOTS = 4;
  private static final int FIRST_BUCKETS = 1 << 8;

  private final int words;
  private final long mostBuckets;
  private long[] keys;
  private byte[] work; // 1 + log2 of the states saved; 0 for an empty slot
  private int buckets = FIRST_BUCKETS;
  private int size;

  /**
   * An empty table.
   *
   * @param words the words of each key
   * @param memoryBytes about the most that it may take
   */
  FailedStates(int words, long memoryBytes) {
    this.words = words;
    long perBucket = SLOTS * (8L * words + 1);
    // While the table doubles, both old and new are in memory.
    long room = Math.min(memoryBytes * 2 / 3, Integer.MAX_VALUE / 2) / perBucket;
    this.mostBuckets = Long.highestOneBit(Math.max(FIRST_BUCKETS, room));
    this.keys = new long[buckets * SLOTS * words];
    this.work = new byte[buckets * SLOTS];
  }

  boolean contains(long[] key) {
    int slot = bucket(key) * SLOTS;
    for (int i = slot; i < slot + SLOTS; i++) {
      if (work[i] != 0 && equal(key, i)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Remembers a key.
   *
   * @param states how many states it took to find out
   */
  void add(long[] key, long states) {
    if (size > buckets * SLOTS / 2 && 2L * buckets <= mostBuckets) {
      grow();
    }
    insert(key, 0, (byte) (65 - Long.numberOfLeadingZeros(states)));
  }

  private void insert(long[] from, int at, byte saves) {
    int slot = bucket(from, at) * SLOTS;
    int least = slot;
    for (int i = slot; i < slot + SLOTS; i++) {
      if (work[i] < work[least]) {
        least = i;
      }
    }
    if (work[least] == 0) {
      size++;
    } else if (work[least] > saves) {
      work[least]--; // what is never used ages
      return;
    }
    work[least] = saves;
    System.arraycopy(from, at, keys, least * words, words);
  }

  private void grow() {
    long[] oldKeys = keys;
    byte[] oldWork = work;
    buckets *= 2;
    keys = new long[buckets * SLOTS * words];
    work = new byte[buckets * SLOTS];
    size = 0;
    for (int i = 0; i < oldWork.length; i++) {
      if (oldWork[i] != 0) {
        insert(oldKeys, i * words, oldWork[i]);
      }
    }
  }

  private boolean equal(long[] key, int slot) {
    int at = slot * words;
    return Arrays.equals(keys, at, at + words, key, 0, words);
  }

  private int bucket(long[] key) {
    return bucket(key, 0);
  }

  private int bucket(long[] from, int at) {
    long h = 0;
    for (int i = at; i < at + words; i++) {
      h = (h ^ from[i]) * 0x9E3779B97F4A7C15L;
      h ^= h >>> 29;
    }
    h *= 0xBF58476D1CE4E5B9L;
    return (int) (h >>> 33) & buckets - 1;
  }
}
