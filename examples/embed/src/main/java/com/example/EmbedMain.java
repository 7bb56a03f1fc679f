package com.example;

/** A program that embeds Slicewright as its user would. */
public final class EmbedMain {
  private EmbedMain() {}

  public static void main(String[] args) {
    System.out.println("Slicewright is on the class path.");
  }
}
