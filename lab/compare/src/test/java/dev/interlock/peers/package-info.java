package dev.interlock.peers;
